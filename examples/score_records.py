"""Score records with S(t) and ES(t), with intervals and a control.

python examples/score_records.py [RECORDS]      # a directory of records, or a log of GraphNet's
"""

import sys
from pathlib import Path

from graph_net.score import Parameters, control_of, estimate, load, score

SHIPPED = Path(__file__).parents[1] / "records/h200"
source = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED

curves = load([source])  # {compiler: Samples}
for compiler, samples in curves.items():
    print(f"{compiler}: {len(samples)} graphs")
    curve = score(samples, Parameters(p=0.1, b=0.1), ts=[-5, -3, 0, 3])
    for place, t in enumerate(curve.ts):
        print(f"  t = {t:+.0f}: S = {curve.s[0, place]:.3f}, ES = {curve.es[0, place]:.3f}")
    bounds = estimate(samples).at("s", -3)
    print(f"  S(-3) = {bounds.value:.3f}, 95 % between {bounds.low:.3f} and {bounds.high:.3f}")

control = control_of(curves.values())  # eager against itself in the same measurements
if control is not None:
    value = estimate(control).at("s", -3).value
    print(f"eager against eager: S(-3) = {value:.3f}, 1.000 if nothing is noise")
