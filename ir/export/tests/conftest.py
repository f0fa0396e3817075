import os
import sys
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
for folder in ("ir/export", "tests/torch", "examples"):
    sys.path.insert(0, os.path.join(ROOT, folder))
warnings.filterwarnings("ignore", message=".*loss_type.*")
