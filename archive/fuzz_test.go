package archive

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzTarget: an accepted target names a bucket, and no part of its text is lost.
func FuzzTarget(f *testing.F) {
	for _, target := range []string{
		"s3://bucket", "s3://bucket/a/prefix/", "s3://bucket/p?endpoint=http://127.0.0.1:7070&region=eu-north-1",
		"s3://key:secret@bucket/x", "s3://bucket?endpoint=%zz", "s3:///x", "s3://b/%00", "s3://[::1]/x", "s3://b/x#y",
	} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		got, err := parseS3(target)
		if err != nil {
			return
		}
		if got.bucket == "" || got.prefix == "/" || got.prefix != "" && !strings.HasSuffix(got.prefix, "/") {
			t.Errorf("%q is %+v", target, got)
		}
	})
}

// FuzzLease: any text is a lease or counts as the oldest possible lease.
func FuzzLease(f *testing.F) {
	f.Add([]byte(`{"owner":"o","host":"h","pid":1,"renewed":"2024-01-25T00:00:00Z"}`))
	f.Add([]byte(`{"owner":1}`))
	f.Add([]byte(`{"renewed":"9999-12-31T23:59:59.999999999+23:59"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		l := leaseOf(text)
		written, err := json.Marshal(l)
		if err != nil {
			return // a time that no lease has
		}
		again := leaseOf(written)
		if again.Owner != l.Owner || again.Host != l.Host || again.PID != l.PID || !again.Renewed.Equal(l.Renewed) {
			t.Errorf("%q is %+v, which is written as %q", text, l, written)
		}
	})
}
