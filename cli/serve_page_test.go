package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The commands after a $ in docs/serve.md run, from the first to the last, and print
// the output that the page shows below them. The server has other ports.
func TestServePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	cbt := installCbt(t)
	s := startServer(t, "--db", "./data")
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"smolwc": self, "cbt": cbt} {
		if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), beSmolwc+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "BIGTABLE_EMULATOR_HOST="+s.addr)
	ours := strings.NewReplacer("localhost:8086", s.addr, "127.0.0.1:8086", s.addr, "/backups", filepath.Join(t.TempDir(), "backups"))
	shell := func(line string) string {
		cmd := exec.Command("sh", "-c", ours.Replace(line))
		cmd.Env, cmd.Dir = env, s.cmd.Dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return strings.ReplaceAll(string(out), s.addr, "127.0.0.1:8086")
	}
	var later []string
	commands := pageCommands(string(page))
	for _, c := range commands {
		var got string
		switch {
		case c.line == "smolwc serve --db ./data":
			pages := strings.TrimSuffix(strings.TrimPrefix(s.pages, "http://"), "/metrics")
			got = strings.NewReplacer(s.addr, "127.0.0.1:8086", pages, "127.0.0.1:8087").Replace(s.greeting)
		case strings.HasPrefix(c.line, "smolwc serve "):
			help := shell("smolwc serve --help")
			for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(c.line, -1) {
				if !strings.Contains(help, flag) {
					t.Errorf("%s: there is no %s", c.line, flag)
				}
			}
		case strings.Contains(c.line, "# once the server has stopped"):
			later = append(later, c.line)
		default:
			got = shell(c.line)
		}
		if strings.Contains(c.line, "token create operator") { // from now on the server requires a token
			env = append(env, envToken+"="+strings.TrimSpace(got))
		}
		if c.shown != "" && got != c.shown {
			t.Errorf("%s\nprints\n%s\nand the page shows\n%s", c.line, got, c.shown)
		}
	}
	if err := s.end(syscall.SIGINT); err != nil {
		t.Errorf("a server that is interrupted: %v", err)
	}
	for _, line := range later {
		if got := shell(line); !strings.Contains(got, "meta:model") {
			t.Errorf("%s prints\n%s", line, got)
		}
	}
	if len(commands) < 8 || len(later) == 0 {
		t.Errorf("only %d commands, and %d behind the end of the server", len(commands), len(later))
	}
}

// A pageCommand is a command after a $, and the output below it.
type pageCommand struct{ line, shown string }

// pageCommands are those of a page's blocks that have no language.
func pageCommands(page string) (commands []pageCommand) {
	inside, plain := false, false
	for line := range strings.SplitSeq(page, "\n") {
		if info, ok := strings.CutPrefix(line, "```"); ok {
			inside = !inside
			plain = inside && info == ""
			continue
		}
		if !plain {
			continue
		}
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, pageCommand{line: c})
		} else if n := len(commands); n > 0 {
			commands[n-1].shown += line + "\n"
		}
	}
	return commands
}
