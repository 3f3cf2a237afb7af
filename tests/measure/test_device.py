"""A processor is told apart by its microarchitecture, not by a brand name."""

from graph_net.measure.device import cpu_name_from, describe

MILAN = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
GENOA = MILAN.replace("model\t\t: 1\n", "model\t\t: 17\n")
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\nCPU part\t: 0xd4f\n"


def test_two_generations_of_one_brand_have_two_names() -> None:
    assert cpu_name_from(MILAN) == "AMD EPYC, family 25, model 1"
    assert cpu_name_from(GENOA) == "AMD EPYC, family 25, model 17"


def test_an_arm_core_is_named_by_its_part() -> None:
    assert cpu_name_from(ARM) == "implementer 0x41, part 0xd40"


def test_what_says_nothing_has_no_name_and_this_machine_has_one() -> None:
    assert cpu_name_from("processor\t: 0\n") == ""
    assert describe().name
