package account

import (
	"net"
	"net/netip"
	"testing"
)

func TestHostsOfAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:5":              "192.0.2.1",
		"[::ffff:192.0.2.1]:5":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"[2001:db8:1:2:9::]:7":     "2001:db8:1:2::/64",
		"[fe80::1%eth0]:7":         "fe80::/64",
	} {
		if got := hostOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))); got != want {
			t.Errorf("%s is of %s, want %s", addr, got, want)
		}
	}
	if got := hostOf(&net.UnixAddr{Name: "/run/s"}); got != "/run/s" {
		t.Error(got)
	}
}
