//go:build unix

package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds pd-server and store into the folder bin. module is the folder of the
// module tikv. Go fetches and compiles their modules the first time.
func Build(ctx context.Context, module, bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	for _, b := range []struct{ dir, name, pkg string }{
		{"pd", "pd-server", "github.com/tikv/pd/cmd/pd-server"},
		{"store", "store", "."},
	} {
		cmd := exec.CommandContext(ctx, "go", "build", "-tags", "without_dashboard", "-o", filepath.Join(bin, b.name), b.pkg)
		cmd.Dir = filepath.Join(module, "stack", b.dir)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", b.name, err, out)
		}
	}
	return nil
}
