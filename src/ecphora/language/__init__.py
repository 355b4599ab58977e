"""Text analysis without a language model: one function a question, one file a topic. All functions are pure."""
