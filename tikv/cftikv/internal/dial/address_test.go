package dial_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]dial.Address{
		"tikv://pd:2379/fleet":                         {PD: []string{"pd:2379"}, Name: "fleet"},
		"tikv://10.0.0.1:2379,[::1]:2380/a%2Fb%20%3F":  {PD: []string{"10.0.0.1:2379", "[::1]:2380"}, Name: "a/b ?"},
		"tikv://pd:2379/f?gc=off":                      {PD: []string{"pd:2379"}, Name: "f", ForeignGC: true},
		"tikv://pd:2379/f?gc=on&key=k%26&cert=c&ca=/a": {PD: []string{"pd:2379"}, Name: "f", CA: "/a", Cert: "c", Key: "k&"},
	} {
		if got, err := dial.Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                              "does not begin with tikv://",
		"http://pd:2379/f":              "does not begin with tikv://",
		"tikv:///f":                     "no host or no port",
		"tikv://pd/f":                   "usual port is 2379",
		"tikv://pd:/f":                  "no host or no port",
		"tikv://:2379/f":                "no host or no port",
		"tikv://pd:2379,/f":             "no host or no port",
		"tikv://::1:2379/f":             "no host or no port",
		"tikv://me@pd:2379/f":           `"me@pd" is no host`,
		"tikv://pd:23790000/f":          "is no port",
		"tikv://pd:2379":                "the name of the store is missing",
		"tikv://pd:2379/":               "the name of the store is missing",
		"tikv://pd:2379/?gc=off":        "the name of the store is missing",
		"tikv://pd:2379/%zz":            "invalid URL escape",
		"tikv://pd:2379/f?ca":           "parameter ca needs one value",
		"tikv://pd:2379/f?ca=a&ca=b":    "parameter ca needs one value",
		"tikv://pd:2379/f?CA=a":         `no parameter "CA"`,
		"tikv://pd:2379/f?ca=a":         "needs ca, cert and key",
		"tikv://pd:2379/f?cert=a&key=b": "needs ca, cert and key",
		"tikv://pd:2379/f?gc=yes":       "gc is on or off",
		"tikv://pd:2379/f?timeout=1s":   `no parameter "timeout"`,
		"tikv://pd:2379/f?gc=off;ca=a":  "semicolon",
	} {
		_, err := dial.Parse(text)
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), dial.Form) {
			t.Errorf("%s: %v, want %s", text, err, why)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("tikv://pd:2379/f?ca=a&cert=b&key=c")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := dial.Parse(text)
		if err == nil && (len(a.PD) == 0 || a.Name == "" || (a.CA == "") != (a.Key == "")) {
			t.Errorf("%q: %+v", text, a)
		}
	})
}
