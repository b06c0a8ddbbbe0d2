"""The history of sessions and runs, in one SQLite file. Written by the engine, read by the faces and by export."""
