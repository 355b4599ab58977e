"""Steps of the ``fused`` strategy: candidate pool, features, ranker, answerability, feedback, decay, promotion."""
