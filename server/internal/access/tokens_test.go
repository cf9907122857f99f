package access

import "testing"

// Create refuses such a grant, but somebody may write it into the file.
func TestAdminOfAViewMayNotChangeIt(t *testing.T) {
	token := &Token{Grants: []Grant{{Right: Admin, Tables: "t@v"}}}
	view := Resource{Name: "t", View: "v", Exact: true}
	if !token.allows(Write, view) || token.allows(Admin, view) || token.allows(Read, Resource{Name: "t", Exact: true}) {
		t.Error("the right to a view is as much as the right to its table")
	}
}

// A grant to tables with a prefix holds within it under their names there, and no other does.
func TestGrantsWithinAPrefix(t *testing.T) {
	for grant, want := range map[string]string{
		"*": "*", "p/*": "*", "p/b/*": "*", "p/b/t": "t", "p/b/t*": "t*", "p/b/t@v": "t@v", "p/b/t@*": "t@*",
		"t": "", "p/c/*": "", "p/bb/t": "", "p/b": "", "b/t": "", "t*": "",
	} {
		token := (&Token{Name: "n", Grants: []Grant{{Right: Write, Tables: grant}}}).Within("p/b/")
		got := ""
		for _, g := range token.Grants {
			if got += g.Tables; g.Right != Write {
				t.Errorf("%q: the right is %v", grant, g.Right)
			}
		}
		if got != want {
			t.Errorf("%q is %q within, want %q", grant, got, want)
		}
	}
	if (*Token)(nil).Within("p/b/") != nil {
		t.Error("no token is one within")
	}
}

// Within a prefix a grant is to names without a prefix; only one to all tables is to others too.
func TestGrantsWithinAPrefixAreToPlainNames(t *testing.T) {
	for grant, want := range map[string]bool{"*": true, "p/*": false, "p/b/*": false, "p*": false} {
		token := (&Token{Name: "n", Grants: []Grant{{Right: Read, Tables: grant}}}).Within("p/b/")
		for name, want := range map[string]bool{"t": true, "p/other/t": want, "p/other/": want} {
			if got := token.allows(Read, Resource{Name: name, Exact: true}); got != want {
				t.Errorf("%q allows %q within: %v", grant, name, got)
			}
		}
	}
}
