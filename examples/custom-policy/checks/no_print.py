"""A plug-in check: reads the question as JSON on stdin, and answers with a JSON verdict on stdout.

The copy of the workspace is the folder in `copy`; `changes` lists what the worker changed.
"""

import json
import pathlib
import sys

question = json.load(sys.stdin)
findings = []
for change in question["changes"]:
    path = pathlib.Path(question["copy"], change["path"])
    if path.suffix != ".py" or not path.is_file():
        continue
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if line.lstrip().startswith("print("):
            findings.append({"statement": "print() in library code", "file": change["path"], "line": number})

status = "failed" if findings else "passed"
json.dump({"status": status, "summary": f"{len(findings)} calls of print()", "findings": findings}, sys.stdout)
