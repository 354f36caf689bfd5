"""`python -m thickset`: the command."""

import sys

from thickset._command import main

sys.exit(main())
