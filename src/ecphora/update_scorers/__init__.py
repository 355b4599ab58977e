"""Update scorers: models that score whether one text updates another."""
