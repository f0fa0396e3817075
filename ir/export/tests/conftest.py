import os
import sys
import warnings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
for folder in ("ir/export", "tests/torch", "examples"):
    sys.path.insert(0, os.path.join(ROOT, folder))
warnings.filterwarnings("ignore", message=".*loss_type.*")

import hap_export  # noqa: E402


def export(*args, **kwargs):
    """Graphs of tests that train nothing: no optimizer unless one is given."""
    kwargs.setdefault("optimizer", None)
    return hap_export.export(*args, **kwargs)
