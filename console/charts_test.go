package console_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/server"
)

// chartData is what the page of charts fetches.
type chartData struct {
	At     []int64
	Charts []struct {
		ID    string
		Lines []struct {
			Name   string
			Values []*float64
		}
	}
}

func (at *site) chartData(query string) (data chartData) {
	at.t.Helper()
	if err := json.Unmarshal([]byte(at.must("/charts/data?"+query)), &data); err != nil {
		at.t.Fatal(err)
	}
	return data
}

// line is the values of a line; nil if there is no such line.
func (d *chartData) line(chart, name string) []*float64 {
	for _, c := range d.Charts {
		for _, l := range c.Lines {
			if c.ID == chart && l.Name == name {
				return l.Values
			}
		}
	}
	return nil
}

// sampled waits until the server has taken a sample.
func (at *site) sampled() chartData {
	at.t.Helper()
	for {
		if data := at.chartData("span=hour"); len(data.At) > 0 {
			return data
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("the first sample takes 5 s")
	}
	t.Parallel()
	tokens := server.OpenTokens(t.TempDir())
	secret, err := tokens.Create("reader", []server.Grant{{Right: server.Read, Tables: "fleet"}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	at := newSite(t, tokens, server.Options{History: true})
	at.set("fleet", "plane#1", "meta", "model", 1, cells.String("Boeing 737"))
	if err := at.db.Table("fleet").Flush(t.Context()); err != nil { // the cache is for files
		t.Fatal(err)
	}
	if text := at.must("/charts"); !strings.Contains(text, "This server wants a token") {
		t.Errorf("without a token:\n%s", text)
	}
	resp, err := at.client.PostForm(at.server.URL+"/login", url.Values{"token": {secret}})
	if err != nil {
		t.Fatal(err)
	}
	at.read(resp)
	at.must("/tables/fleet")
	data := at.sampled()
	for _, want := range [][2]string{{"calls", "all"}, {"memory", "cache"}, {"table-cells", "fleet"}} {
		values := data.line(want[0], want[1])
		if len(values) != len(data.At) || values[0] == nil || *values[0] <= 0 {
			t.Errorf("%s, %s is %v", want[0], want[1], values)
		}
	}
	if data.line("table-cells", "secret") != nil {
		t.Error("the charts have a table that the token may not read")
	}
	page := html.UnescapeString(at.must("/charts"))
	for _, want := range []string{"Time of reads of rows", "Numbers of Memory", "KiB", `<th scope="col" dir="ltr">fleet</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if later := at.chartData("span=hour&after=99999999999"); len(later.At) != 0 {
		t.Errorf("samples of the future: %v", later.At)
	}
	for _, query := range []string{"span=year", "after=x"} {
		if text, code := at.get("/charts/data?" + query); code != http.StatusBadRequest {
			t.Errorf("%s: %d\n%s", query, code, text)
		}
	}
}

func TestWithoutHistory(t *testing.T) {
	at := newSite(t, nil)
	if text := at.must("/charts"); !strings.Contains(text, "--history off") {
		t.Errorf("the page is\n%s", text)
	}
	if data := at.chartData("span=month"); len(data.At) != 0 || len(data.Charts) == 0 {
		t.Errorf("the data are %v", data)
	}
}
