"""Update scorers: cross-encoders that judge whether one text updates another."""
