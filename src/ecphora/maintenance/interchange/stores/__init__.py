"""The files of other memory stores."""
