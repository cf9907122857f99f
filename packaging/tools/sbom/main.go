// Command sbom writes the contents of a binary of smolwc as an SPDX 2.3 document, in JSON.
//
//	sbom BINARY VERSION [C-LIBRARIES]
//
// C-LIBRARIES are names with versions, separated by commas, as smolwc version prints them.
package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION [C-LIBRARIES]")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	if err == nil {
		err = json.Write(document(info, os.Args[2], strings.Join(os.Args[3:], " ")), os.Stdout, json.Indent("  "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

const none = "NOASSERTION"

func document(info *buildinfo.BuildInfo, version, libraries string) *spdx.Document {
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64) // 1970 without it
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: "smolwc-" + version,
		DocumentNamespace: "https://github.com/smolwc/smolwc/spdx/" + version + platform(info),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "smolwc"}},
			Created:  time.Unix(seconds, 0).UTC().Format(time.RFC3339),
		},
	}
	add := func(name, version, purl, license string) {
		p := &spdx.Package{
			PackageName: name, PackageVersion: version, PackageSPDXIdentifier: common.ElementID("Package-" + strconv.Itoa(len(doc.Packages))),
			PackageDownloadLocation: none, PackageLicenseConcluded: none, PackageLicenseDeclared: license, PackageCopyrightText: none,
		}
		if purl != "" {
			p.PackageExternalReferences = []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: purl}}
		}
		doc.Packages = append(doc.Packages, p)
		from, how := doc.Packages[0].PackageSPDXIdentifier, common.TypeRelationshipContains
		if len(doc.Packages) == 1 {
			from, how = "DOCUMENT", common.TypeRelationshipDescribe
		}
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: p.PackageSPDXIdentifier}, Relationship: how,
		})
	}
	add("smolwc", version, "pkg:golang/github.com/smolwc/smolwc@"+version, "Apache-2.0")
	add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version, none)
	}
	for library := range strings.SplitSeq(libraries, ",") {
		if name, version, ok := strings.Cut(strings.TrimSpace(library), " "); ok {
			add(name, version, "", none)
		}
	}
	return doc
}

func platform(info *buildinfo.BuildInfo) string {
	text := ""
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" {
			text = "-" + s.Value + text
		}
	}
	return text
}
