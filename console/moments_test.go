package console_test

import (
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive/moments"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/console"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/server"
	"github.com/smolwc/smolwc/standby"
)

// A sending site sends its log to an archive.
type sendingSite struct {
	*site
	sender *moments.Sender
}

func newSendingSite(t *testing.T) *sendingSite {
	t.Helper()
	p := standby.NewPrimary(standby.PrimaryOptions{})
	db, err := query.Open(filepath.Join(t.TempDir(), "db"), query.Options{Schema: fleet(), Standbys: p.Hook()})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := moments.NewSender(db, p, filepath.Join(t.TempDir(), "archive"), moments.Options{Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	at := siteOn(t, db, server.Options{Moments: sender}, console.Options{Moments: sender, Address: "here"})
	at.await("the first backup", func() bool { return !sender.Status().Earliest.IsZero() })
	return &sendingSite{at, sender}
}

func (at *site) await(what string, ok func() bool) {
	at.t.Helper()
	for began := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			at.t.Fatalf("after a minute: %s", what)
		}
	}
}

// sent waits until everything is in the archive.
func (at *sendingSite) sent() {
	at.t.Helper()
	now := time.Now()
	at.set("secret", "beat", "f", "q", 0, cells.String("beat"))
	at.await("the log is not sent", func() bool { return at.sender.Status().Until.After(now) })
}

// between returns a moment after all that was written, and before all that comes.
func between() time.Time {
	const apart = 2 * time.Millisecond // times are microseconds of a clock
	time.Sleep(apart)
	defer time.Sleep(apart)
	return time.Now()
}

// work waits for the end of the work.
func (at *site) work() (text string) {
	at.t.Helper()
	at.await("the work does not end", func() bool {
		text = html.UnescapeString(at.must("/backups/work"))
		return !strings.Contains(text, "every 1s")
	})
	return text
}

func (at *site) tables() (names []string) {
	for _, t := range at.db.Schema().Tables {
		names = append(names, t.Name)
	}
	return names
}

// Somebody dropped a table: a page opens it as of a moment before, beside the present ones, after a question that names the
// backup and the log to read. To look changes nothing.
func TestATableIsOpenedAsItWas(t *testing.T) {
	at := newSendingSite(t)
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	if text := at.must("/tables/fleet"); !strings.Contains(text, `href="/moment?table=fleet"`) {
		t.Errorf("the page of the table does not lead there:\n%s", text)
	}
	moment := between()
	at.set("fleet", "plane#1", "meta", "model", 2, cells.String("Airbus A320"))
	if err := at.db.DropTable(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	at.sent()

	text := at.must("/moment?table=fleet")
	bounds := regexp.MustCompile(`type="range"[^>]* min="(\d+)" max="(\d+)"`).FindStringSubmatch(text)
	if bounds == nil || !strings.Contains(text, `name="as" value="fleet_before"`) {
		t.Fatalf("the page has no slider, or no name:\n%s", text)
	}
	least, _ := strconv.ParseInt(bounds[1], 10, 64)
	most, _ := strconv.ParseInt(bounds[2], 10, 64)
	if s := moment.Unix(); s < least-1 || s > most {
		t.Errorf("%d is not from %d to %d", s, least, most)
	}
	before := at.tables()
	form := []string{"table", "fleet", "as", "fleet_before", "at", moment.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)}
	text, _ = at.post("/moment", form...)
	if text = html.UnescapeString(text); !strings.Contains(text, "this reads backup 1, ") || !strings.Contains(text, "of the log, ") || !strings.Contains(text, "makes the new table fleet_before") {
		t.Fatalf("it does not say what it reads:\n%s", text)
	}
	if got := at.tables(); !slices.Equal(got, before) {
		t.Errorf("to ask made tables: %v", got)
	}
	if text, _ := at.post("/moment", append(form, "act", "choose")...); strings.Contains(text, "this reads") || !strings.Contains(text, `type="range"`) {
		t.Errorf("after No the moment cannot be chosen again:\n%s", text)
	}
	at.await("the server is at the plan", func() bool {
		text, _ = at.post("/moment", append(form, "sure", "1")...)
		text = at.work()
		return !strings.Contains(text, "another restore")
	})
	if !strings.Contains(text, "the table fleet_before is fleet as of 2") || !strings.Contains(text, `href="/tables/fleet_before"`) {
		t.Fatalf("it was not opened:\n%s", text)
	}
	if text := at.must("/tables/fleet_before"); !strings.Contains(text, "Boeing 737") || strings.Contains(text, "Airbus") {
		t.Errorf("it has\n%s", text)
	}
	if text := at.must("/moment?table=fleet"); !strings.Contains(text, `value="fleet_before_2"`) {
		t.Errorf("the name is taken:\n%s", text)
	}
}

// A moment or a name that makes no sense is refused before anything is read, and the page says why.
func TestAMomentThatCannotBeOpened(t *testing.T) {
	at := newSendingSite(t)
	at.sent()
	now := at.sender.Status().Until.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	for _, c := range []struct{ table, as, at, want string }{
		{"fleet", "fleet", now, "already exists"},
		{"fleet", "fleet_before", "half past ten", "time"},
		{"fleet", "fleet_before", "2001-01-01", "the earliest one that can is"},
		{"fleet", "fleet_before", "2101-01-01", "the latest one that can is"},
		{"fleet", "fleet_before", "", "choose a moment"},
		{"fleet", "", now, "name the table"},
		{"fleet", "a b/c", now, "table"},
	} {
		text, code := at.post("/moment", "table", c.table, "as", c.as, "at", c.at)
		if text = html.UnescapeString(text); code != 200 || !strings.Contains(text, `role="alert"`) || !strings.Contains(text, c.want) || !strings.Contains(text, `type="range"`) {
			t.Errorf("%+v: %d; want %q in\n%s", c, code, c.want, text)
		}
	}
	at.await("the server is at the plan", func() bool {
		at.post("/moment", "table", "planes", "as", "planes_before", "at", now, "sure", "1")
		return !strings.Contains(at.work(), "another restore")
	})
	if text := at.work(); !strings.Contains(text, `the restored moment has no table "planes"`) {
		t.Errorf("a table that was not there:\n%s", text)
	}
	if text := newSite(t, nil).must("/moment?table=fleet"); !strings.Contains(text, `role="alert"`) || strings.Contains(text, `type="range"`) {
		t.Errorf("a server without backups:\n%s", text)
	}
}
