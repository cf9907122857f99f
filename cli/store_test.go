package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/cftest"
)

// kept is a store that outlives the database on it.
type kept struct{ *cftest.Memory }

func (kept) EndWaits()    {}
func (kept) Close() error { return nil }

// A database at a URL is used as one in a directory is. What needs a directory is
// refused, with another way.
func TestDatabaseAtAURL(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"async.yaml": "durability: async", "sync.yaml": "durability: sync\nbackground_rate: 0", "rate.yaml": "background_rate: 1MiB",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stores := map[string]kept{}
	open := func(ctx context.Context, url string, o StoreOptions) (cf.Store, error) {
		if strings.Contains(url, "silent") {
			<-ctx.Done()
			return nil, fmt.Errorf("%w: %w", cf.ErrUnavailable, ctx.Err())
		}
		if _, ok := stores[url]; !ok && o.MustExist {
			return nil, cf.ErrNotExist
		} else if !ok {
			stores[url] = kept{cftest.NewMemory()}
		}
		return stores[url], nil
	}
	for _, step := range []struct {
		args, want string
		code       int
	}{
		{"-c scan~t", "there is no database at mem://a: not found", exitOpen},
		{"token list", "there is no database at mem://a", exitOpen},
		{"-c create~table~t~family~f", "", 0},
		{"-c put~t~r~f:x=1", "", 0},
		{"--format csv -c count~t", "1\n", 0},
		{"--read-only -c put~t~r~f:x=1", "read-only", exitFailed},
		{"--read-only -c drop~table~t", "read-only", exitFailed}, // before they ask
		{"--read-only -c alter~table~t~drop~family~f", "read-only", exitFailed},
		{"--read-only -c delete~t~where~f:x=1", "read-only", exitFailed},
		{"--read-only -c truncate~t", "read-only", exitFailed},
		{"--read-only -c delete~t~where~f:x=1~dry-run", "", 0},
		{"export t - --as jsonl", `"row":"r"`, 0},
		{"token list", "there are no tokens", 0},
		{"token create reader --read t", "smolwc_", 0},
		{"token list", "reader  read t", 0},
		{"token revoke reader", "revoked reader", 0},
		{"token list", "there are no tokens left", 0},
		{"backup backups", "br for TiKV", exitFailed},
		{"checkpoint copy", "br for TiKV", exitFailed},
		{"--config async.yaml -c tables", "durability is async, but mem://a has every write on disk", exitUsage},
		{"--config rate.yaml -c tables", "background_rate is set, but the machines of mem://a do", exitUsage},
		{"serve --addr 127.0.0.1:0 --durability async", "durability is async, but mem://a has", exitUsage},
		{"--config sync.yaml -c tables", "t", 0},
		{"--db mem://silent --timeout 1ms -c tables", "gave up after 1ms, the --timeout", exitOpen},
		{"--db other://a -c tables", "in a directory, or at mem://…; there is no other://", exitUsage},
	} {
		var out, errs strings.Builder
		c := &command{stores: Stores{"mem": open}, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: noEnv}
		args := []string{"--db", "mem://a?key=secret"}
		for _, word := range strings.Fields(step.args) {
			args = append(args, strings.ReplaceAll(word, "~", " "))
		}
		code := c.run(args)
		if got := out.String() + errs.String(); code != step.code || !strings.Contains(got, step.want) || strings.Contains(got, "secret") {
			t.Errorf("smolwc %s: exit code %d\n%s", step.args, code, got)
		}
	}
}
