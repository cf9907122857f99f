package cli

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The pages of a read whose times depend on now are as of the first page, at hand and over
// the network: a time that went on would make another read, to which a token does not
// belong. Rows that are written between two pages are later than the moment.
func TestPagesOfNow(t *testing.T) {
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "far"), "--durability", "async")
	near := filepath.Join(t.TempDir(), "near")
	token := regexp.MustCompile(`-- next page: page=(\S+)`)
	tokens := map[string][]string{}
	for _, way := range [][]string{{"--db", near}, {"--addr", s.addr}} {
		session := func(code int, text string) (string, string) {
			t.Helper()
			var out, errs strings.Builder
			if got := run(append(slices.Clone(way), "--format", "csv", "-c", text), strings.NewReader(""), &out, &errs, noEnv); got != code {
				t.Fatalf("%s %s: exit code %d, %s", way[0], text, got, errs.String())
			}
			return out.String(), errs.String()
		}
		session(0, "create table t family f; put t a f:q=1@now-30m; put t b f:q=1@now-2h; put t c f:q=1@now-30m; put t e f:q=1@now-30m")
		for i, scan := range []string{
			"scan t keys-only limit=1 since=now-1h until=now",
			"scan t keys-only limit=1 where f:q.ts between now-1h and now",
			"scan t keys-only limit=1 where f:q.ts > now-1h and not f:q.ts > now and key like '_'",
		} {
			var rows []string
			for page := `""`; page != ""; {
				out, errs := session(0, scan+" page="+page)
				rows = append(rows, strings.Fields(out)[1:]...)
				page = ""
				if found := token.FindStringSubmatch(errs); found != nil {
					page = found[1]
					tokens[scan] = append(tokens[scan], page)
					session(0, "put t d"+strings.Repeat("d", i)+" f:q=1")
				}
			}
			if want := []string{"a", "c", "e"}; !slices.Equal(rows, want) {
				t.Errorf("%s %s: %q, want %q", way[0], scan, rows, want)
			}
			session(0, "delete t d"+strings.Repeat("d", i))
			first := tokens[scan][len(tokens[scan])-1]
			for _, wrong := range []string{first + "0", first + ".1", strings.Replace(first, ".", ".-", 1), first[strings.Index(first, "."):], "x" + first} {
				if _, errs := session(1, scan+" page="+wrong); !strings.Contains(errs, "page token") {
					t.Errorf("%s %s page=%s: %s", way[0], scan, wrong, errs)
				}
			}
			if _, errs := session(1, strings.Replace(scan, "now-1h", "now-2h", 1)+" page="+first); !strings.Contains(errs, "page token belongs to a read of another table or with other options") {
				t.Errorf("%s: the token is taken for other times: %s", way[0], errs)
			}
		}
	}
	for scan, all := range tokens { // the first ones are those at hand, the last ones those of the network
		for _, c := range [][2]string{{"--addr " + s.addr, all[0]}, {"--db " + near, all[len(all)-1]}} {
			var out, errs strings.Builder
			if code := run(append(strings.Fields(c[0]), "-c", scan+" page="+c[1]), strings.NewReader(""), &out, &errs, noEnv); code != 1 || !strings.Contains(errs.String(), "page token") {
				t.Errorf("%s %s page=%s: %d, %s", c[0], scan, c[1], code, errs.String())
			}
		}
	}
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}
