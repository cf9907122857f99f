package function

import (
	"testing"
	"unsafe"
)

// A pattern may be a value of a row whose memory the next row uses again.
func TestPatternsKeepNoMemoryOfRows(t *testing.T) {
	const text = `\bpattern of a row`
	row := []byte(text)
	if _, err := compiled(unsafe.String(&row[0], len(row))); err != nil {
		t.Fatal(err)
	}
	for i := range row {
		row[i] = '('
	}
	cache.Lock()
	kept := cache.byText[text]
	for key := range cache.byText {
		if key == string(row) {
			t.Error("the cache has the text of the next row")
		}
	}
	cache.Unlock()
	if kept == nil {
		t.Fatal("the cache does not have the pattern")
	}
	if at, err := kept.next(t.Context(), "a pattern of a row", 2); err != nil || at == nil || at[0] != 2 {
		t.Errorf("the match is at %v", at)
	}
}
