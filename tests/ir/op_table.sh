#!/bin/bash
# C and the exporter read the same op table: both print what a graph file may say.
diff <("${HAP_BUILD:?}/bin/opsgen" user) <(python3 ir/export/hap_export/ops.py)
