package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The script that make build and packages ask for the version of a checkout.
func TestVersionOfACheckout(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"packaging/version", "CHANGELOG.md"} {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_COMMITTER_DATE=2026-03-01T22:00:00-0300")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	expect := func(what, pattern string) {
		t.Helper()
		if got := run("packaging/version"); !regexp.MustCompile("^" + pattern + "\n$").MatchString(got) {
			t.Errorf("%s: the version is %q, want %s", what, got, pattern)
		}
	}
	const changelog = `\d+\.\d+\.\d+`
	expect("without git", changelog)
	run("git", "init", "-q")
	expect("without a commit", changelog)
	run("git", "add", ".")
	run("git", "commit", "-q", "-m", "first")
	expect("a commit", changelog+`\+20260302010000\.g[0-9a-f]{12}`)
	run("git", "tag", "v9.8.7")
	expect("a tag", `9\.8\.7`)
}
