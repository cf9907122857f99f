//go:build cgo && linux && !norocksdb

package rocks_test

import (
	"os"
	"os/exec"
	"testing"
)

// again is set in a process that a test started to run itself again.
const again = "SMOLWC_TEST_AGAIN"

// runAgain runs the test that calls it once more, in a process of its own that change
// may change, and reports whether this is that process. In the calling process it fails
// or skips the test as the other process did.
func runAgain(t *testing.T, change func(*exec.Cmd)) (inside bool) {
	t.Helper()
	if os.Getenv(again) != "" {
		return true
	}
	// The binary may be in a directory that another user cannot read.
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
