"""Print how many tokens the definitions of the tools take in a prompt (estimated).

python benchmarks/tool_size.py
"""

import json

from ecphora.language.terms import estimate_tokens
from ecphora.tools.memory_tools import TOOLS

if __name__ == "__main__":
    sizes = {
        tool.name: estimate_tokens(
            json.dumps({"name": tool.name, "description": tool.description, "input_schema": tool.schema()})
        )
        for tool in TOOLS
    }
    for name, size in sizes.items():
        print(f"{name:10} {size:6,}")
    print(f"{'all':10} {sum(sizes.values()):6,}")
