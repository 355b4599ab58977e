"""Answering benchmark questions with a language model, and scoring the answers."""
