"""The published models with parts left out, and what their papers left open."""
