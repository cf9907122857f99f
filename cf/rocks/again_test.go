//go:build cgo

package rocks_test

import (
	"os"
	"os/exec"
	"testing"
)

// again is set in a process that a test started to run itself again.
const again = "SMOLWC_TEST_AGAIN"

// runAgain runs the test that calls it once more, in a process of its own that
// change may change, and reports whether this is that process. It fails when that
// one does, and is skipped when that is.
func runAgain(t *testing.T, change func(*exec.Cmd)) (inside bool) {
	t.Helper()
	if os.Getenv(again) != "" {
		return true
	}
	// The binary may lie where another user cannot look.
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), again+"=1")
	change(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}
