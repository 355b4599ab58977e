"""How well recall works on public benchmark sets: loading, running, measuring, reporting. No recall is done here."""
