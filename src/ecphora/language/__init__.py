"""What can be read off a text without a language model: one function a question, one file a topic. All pure."""
