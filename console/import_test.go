package console_test

import (
	"bytes"
	"compress/gzip"
	"html"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// upload sends the form of the page that imports, with a file.
func (at *site) upload(name, content string, fields ...string) (string, int) {
	at.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields = append(fields, "form", formToken.FindStringSubmatch(at.must("/import"))[1])
	for i := 0; i < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			at.t.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = file.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		at.t.Fatal(err)
	}
	resp, err := at.client.Post(at.server.URL+"/import", form.FormDataContentType(), &body)
	if err != nil {
		at.t.Fatal(err)
	}
	return at.read(resp), resp.StatusCode
}

var (
	proposedImport = regexp.MustCompile(`(?s)<textarea id="import-q".*?>(.*?)</textarea>`)
	proposedTable  = regexp.MustCompile(`name="create" value="([^"]*)"`)
)

// A file is looked at, its table is made, and its lines are rows; nothing is left on the
// server's disk.
func TestAFileIsImportedByAPage(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	at := newSite(t, nil)
	const planes = "tail;model;seats\nN1;A320;150\nN2;B737;183\n"
	seen, code := at.upload("planes.csv", planes, "act", "look", "table", "planes")
	if code != http.StatusOK || !strings.Contains(seen, "A320") || !strings.Contains(seen, "seats") {
		t.Fatalf("the look: %d\n%s", code, seen)
	}
	found, create := proposedImport.FindStringSubmatch(seen), proposedTable.FindStringSubmatch(seen)
	if found == nil || create == nil {
		t.Fatalf("nothing is proposed:\n%s", seen)
	}
	if _, known := at.get("/tables/planes"); known != http.StatusNotFound {
		t.Error("the look has made the table")
	}
	statement := html.UnescapeString(found[1])
	if !strings.HasPrefix(statement, "import planes from \"planes.csv\" key=\"{tail}\"") || !strings.Contains(statement, "sep=\";\"") {
		t.Errorf("proposed: %s", statement)
	}
	done, _ := at.upload("planes.csv", planes, "act", "import", "table", "planes", "q", statement, "create", html.UnescapeString(create[1]))
	if !strings.Contains(done, "imported 2 rows, 4 cells") || !strings.Contains(done, `href="/tables/planes"`) {
		t.Errorf("the import:\n%s", done)
	}
	if text := at.must("/tables/planes"); !strings.Contains(text, "B737") || !strings.Contains(text, "183") {
		t.Errorf("the rows:\n%s", text)
	}
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	if _, err := gz.Write([]byte(planes)); err != nil || gz.Close() != nil {
		t.Fatal(err)
	}
	if text, _ := at.upload("Planes.CSV.GZ", packed.String(), "act", "look", "table", "planes"); !strings.Contains(text, "A320") {
		t.Errorf("a name in capitals:\n%s", text)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left on the disk: %q %v", left, err)
	}
}

// The page shows the types that the columns have in its statement, which leaves NA out.
func TestALookShowsTheProposedTypes(t *testing.T) {
	at := newSite(t, nil)
	seen, _ := at.upload("planes.csv", "tail,seats\nN1,150\nN2,NA\nN3,183\n", "act", "look", "table", "planes")
	if statement := html.UnescapeString(seen); !strings.Contains(statement, "na=NA") || !strings.Contains(statement, "i64") {
		t.Fatalf("the proposal:\n%s", seen)
	}
	if row := regexp.MustCompile(`(?s)<tr[^>]*>\s*<t[dh][^>]*>seats.*?</tr>`).FindString(seen); !strings.Contains(row, "i64") {
		t.Errorf("the row of seats: %s", row)
	}
}

// What cannot be imported is an error with the file's own name, and writes nothing.
func TestAnImportByAPageIsRefused(t *testing.T) {
	at := newSite(t, nil)
	for _, c := range []struct{ name, content, statement, want string }{
		{"a.csv", "id,x\n1,2\n1,3\n", "import secret from 'a.csv' key='{id}' columns=f:x=x", "a.csv:3: "},
		{"a.csv", "id,x\n1,2\n", "import u from 'a.csv' key='{id}' columns=f:x=x", "no such table"},
		{"a.csv", "id,x\n1,2\n", "import secret from 'a.csv' key='{id}' columns=f:x=x bad='bad.csv'", "leave out bad="},
		{"a.csv", "id,x\n1,2\n", "drop table secret", "other statements have the page Query"},
		{"a.xls", "id,x\n1,2\n", "import secret from 'a.xls' key='{id}' columns=f:x=x", "a.xls"},
		{"a.parquet", "PAR1", "import secret from 'a.parquet' key='{id}' columns=f:x=x", "a.parquet"},
	} {
		text, _ := at.upload(c.name, c.content, "act", "import", "table", "secret", "q", c.statement)
		if text = html.UnescapeString(text); !strings.Contains(text, `class="failure"`) || !strings.Contains(text, c.want) || strings.Contains(text, "smolwc-import-") {
			t.Errorf("%s: want an error with %q:\n%s", c.statement, c.want, text)
		}
	}
	if text := at.must("/tables/secret"); !strings.Contains(text, "There are no such rows") {
		t.Errorf("something was written:\n%s", text)
	}
	if text, code := at.post("/import", "act", "look", "table", "secret"); code != http.StatusRequestEntityTooLarge || !strings.Contains(text, "did not come whole") {
		t.Errorf("a form without a file: %d\n%s", code, text)
	}
}

// What is wrong with a file or a name is said when the file is looked at: of an empty file the
// page said that there is no such table, and a bad name failed only in the import.
func TestALookSaysWhatIsWrong(t *testing.T) {
	at := newSite(t, nil)
	for _, c := range []struct{ file, content, table, want string }{
		{"empty.csv", "", "fresh", `the file "empty.csv" is empty`},
		{"planes.csv", "id,name\n1,Ann\n", "two words", "not allowed at byte 3"},
	} {
		text, _ := at.upload(c.file, c.content, "act", "look", "table", c.table)
		if text = html.UnescapeString(text); !strings.Contains(text, c.want) || proposedImport.MatchString(text) {
			t.Errorf("%s into %q: there is no %q in\n%s", c.file, c.table, c.want, text)
		}
	}
}
