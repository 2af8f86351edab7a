"""The module against dumps of testdata, without JAX: `python -m unittest discover python/tests`."""

import pathlib
import subprocess
import sys
import unittest

import hlolint

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "testdata"
OOM = TESTDATA / "dumps" / "attention_oom"
ISOLATED = ["--isolated"]


def text_of(dump):
    return next(dump.glob("*.after_optimizations.txt")).read_text()


class FakeCompiled:
    """What `check` looks at in a `jax.stages.Compiled`."""

    class Sharding:
        class Device:
            device_kind = "TPU v5 lite"

        device_set = {Device()}

    input_shardings = (({"x": Sharding()},), {})

    def as_text(self):
        return text_of(OOM)


class FakeLowered:
    """A `jax.stages.Lowered` whose compile fails, with or without a dump."""

    def __init__(self, dump):
        self.dump = dump

    def compile(self, compiler_options=None):
        assert compiler_options["xla_dump_hlo_as_text"] is True
        for file in self.dump.iterdir() if self.dump else ():
            pathlib.Path(compiler_options["xla_dump_to"], file.name).write_bytes(file.read_bytes())
        raise RuntimeError("RESOURCE_EXHAUSTED")


class Check(unittest.TestCase):
    def test_a_path(self):
        for program in (OOM, str(OOM)):
            report = hlolint.check(program, ISOLATED)
            self.assertEqual(report.exit_code, 1)
            self.assertIs(report.fits, False)
            finding = report.findings[0]
            self.assertEqual((finding.rule, finding.level), ("hbm-over-capacity", "error"))
            self.assertIsNotNone(finding.source)
            module = report.modules[0]
            self.assertGreater(module.required_bytes, module.available_bytes)
            self.assertEqual(finding.bytes, module.required_bytes - module.available_bytes)

    def test_a_healthy_one(self):
        report = hlolint.check(TESTDATA / "dumps" / "mlp_donated", ISOLATED)
        self.assertEqual((report.exit_code, report.findings, report.fits), (0, [], True))

    def test_a_text(self):
        report = hlolint.check(text_of(OOM), ["--chip", "v5e", *ISOLATED])
        self.assertIs(report.fits, False)
        self.assertIsNone(hlolint.check(text_of(OOM), ISOLATED).fits)

    def test_a_compiled_program(self):
        report = hlolint.check(FakeCompiled(), ISOLATED)
        self.assertEqual((report.modules[0].chip, report.fits), ("v5e", False))
        self.assertEqual(hlolint.check(FakeCompiled(), ["--chip=v4", *ISOLATED]).modules[0].chip, "v4")

    def test_a_lowered_program_that_does_not_compile(self):
        report = hlolint.check(FakeLowered(OOM), ISOLATED)
        self.assertIn("RESOURCE_EXHAUSTED", str(report.compile_error))
        self.assertEqual(report.findings[0].rule, "hbm-over-capacity")
        with self.assertRaisesRegex(RuntimeError, "RESOURCE_EXHAUSTED"):
            hlolint.check(FakeLowered(None), ISOLATED)

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(hlolint.HlolintError, "unexpected argument"):
            hlolint.check(OOM, ["--no-such-option"])
        with self.assertRaisesRegex(TypeError, "not int"):
            hlolint.check(5)
        report = hlolint.check("no/such/folder", ISOLATED)
        self.assertEqual((report.exit_code, report.diagnostics[0].failed), (2, True))

    def test_the_module_is_the_command(self):
        run = subprocess.run([sys.executable, "-m", "hlolint", "--version"], capture_output=True)
        self.assertEqual(run.returncode, 0)
        self.assertIn(b"hlolint", run.stdout)


if __name__ == "__main__":
    unittest.main()
