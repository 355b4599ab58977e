"""Work on a whole file or scope: doctor, new model, new chunks, export and import, learning."""
