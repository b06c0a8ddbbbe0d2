"""The command line: words to verbs. Headless verbs never import Textual; the workbench is opened by workbench.py."""
