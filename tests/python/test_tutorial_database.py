"""The blocks of the tutorial on databases, run one after another in a small size."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import ROOT
from test_serve import HERE

PAGE = ROOT / "docs/tutorial/protect-a-database.md"

SIZES = {"scale": "2", "seconds": "3", "search": "6"}

END = """
trap 'kill $(jobs -p) || true; as pg_ctl -D "$work/db" -m immediate stop || true' EXIT
"""


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.skipif(not HERE, reason="needs root and loop devices")
@pytest.mark.skipif(shutil.which("pgbench") is None, reason="needs Debian's postgresql")
@pytest.mark.usefixtures("leftovers")
def test_the_blocks_run_one_after_another(tmp_path: Path) -> None:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    script = END.join(["set -eu\n", "\n".join(blocks)])
    assert script.count("apt-get") == 1
    script = script.replace("apt-get install -y postgresql", ":")
    for name, value in (*SIZES.items(), ("work", str(tmp_path / "tutorial"))):
        script, count = re.subn(rf"\b{name}=\S+", f"{name}={value}", script, count=1)
        assert count == 1, name
    # The server runs as another user.
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("alone", "backup", "guard", "bulk", "bulk-guard", "lane"):
        line = rf"^{name}: reads [\d.]+ / [\d.]+ ms, commits [\d.]+ / [\d.]+ ms$"
        assert re.search(line, done.stdout, re.MULTILINE), name
    assert "MEASURED" in done.stdout
    assert not (tmp_path / "tutorial").exists()
