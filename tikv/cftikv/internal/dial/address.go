// Package dial connects to TiKV clusters that URLs name.
package dial

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Form is the form of the URLs.
const Form = "tikv://HOST:PORT[,HOST:PORT…]/NAME[?ca=FILE&cert=FILE&key=FILE][&gc=off]"

// An Address is the parts of a URL.
type Address struct {
	PD            []string // each with its port
	Name          string   // of the store
	CA, Cert, Key string   // files in PEM; either all are given or none
	ForeignGC     bool     // gc=off: another program moves the cluster's safepoint
}

// Parse reads a URL. It accepts nothing that it does not know.
func Parse(text string) (a Address, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("address %q: %w; its form is %s", text, err, Form)
		}
	}()
	rest, ok := strings.CutPrefix(text, "tikv://")
	if !ok {
		return a, errors.New("it does not begin with tikv://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, name, _ := strings.Cut(rest, "/") // net/url refuses several hosts with ports
	if a.PD, err = parseHosts(hosts); err != nil {
		return a, err
	}
	if a.Name, err = url.PathUnescape(name); err != nil {
		return a, err
	}
	if a.Name == "" {
		return a, errors.New("the name of the store is missing")
	}
	parameters, err := url.ParseQuery(query)
	if err != nil {
		return a, err
	}
	return a, a.set(parameters)
}

func parseHosts(list string) (hosts []string, err error) {
	for host := range strings.SplitSeq(list, ",") {
		name, port, err := net.SplitHostPort(host)
		if err != nil || name == "" || port == "" {
			return nil, fmt.Errorf("PD %q has no host or no port; PD's usual port is 2379", host)
		}
		if strings.ContainsAny(name, "@# ") {
			return nil, fmt.Errorf("%q is no host", name)
		}
		if _, err := net.LookupPort("tcp", port); err != nil {
			return nil, fmt.Errorf("%q of PD %q is no port", port, host)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

func (a *Address) set(parameters url.Values) error {
	files := map[string]*string{"ca": &a.CA, "cert": &a.Cert, "key": &a.Key}
	for name, values := range parameters {
		value := values[0]
		switch file := files[name]; {
		case len(values) > 1 || value == "":
			return fmt.Errorf("parameter %s needs one value", name)
		case file != nil:
			*file = value
		case name != "gc":
			return fmt.Errorf("there is no parameter %q", name)
		case value != "on" && value != "off":
			return fmt.Errorf("gc is on or off, not %q", value)
		default:
			a.ForeignGC = value == "off"
		}
	}
	if (a.CA == "") != (a.Cert == "") || (a.CA == "") != (a.Key == "") {
		return errors.New("TLS needs ca, cert and key")
	}
	return nil
}
