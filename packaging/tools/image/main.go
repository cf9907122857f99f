// Command image makes a container image of one layer as an OCI layout in a tar file,
// without a daemon.
//
//	image LAYER.tar VERSION ARCHITECTURE IMAGE.tar
package main

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: image LAYER.tar VERSION ARCHITECTURE IMAGE.tar")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(layer, version, architecture, to string) error {
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64) // 1970 without it
	made := time.Unix(seconds, 0).UTC()
	image, err := imageOf(layer, version, architecture, made)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	platform := v1.Platform{OS: "linux", Architecture: architecture}
	named := map[string]string{"org.opencontainers.image.ref.name": version}
	if err := l.AppendImage(image, layout.WithPlatform(platform), layout.WithAnnotations(named)); err != nil {
		return err
	}
	return pack(dir, to, made)
}

func imageOf(layer, version, architecture string, made time.Time) (v1.Image, error) {
	l, err := tarball.LayerFromFile(layer, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: "packaging/image", Created: v1.Time{Time: made}}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", architecture, v1.Time{Time: made}
	file.Config = v1.Config{
		User: "65532:65532", WorkingDir: "/data",
		Entrypoint:   []string{"/usr/bin/smolwc"},
		Cmd:          []string{"serve", "--addr", "0.0.0.0:8086", "--http", "0.0.0.0:8087", "--insecure"},
		Env:          []string{"PATH=/usr/bin", "SMOLWC_DB=/data", "SMOLWC_CONFIG=/etc/smolwc/config.yaml", "MALLOC_ARENA_MAX=1", "HOME=/tmp"},
		ExposedPorts: map[string]struct{}{"8086/tcp": {}, "8087/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/smolwc", "ping"}, Interval: 10 * time.Second, Timeout: 15 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title": "smolwc", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, file)
}

// pack writes the files of a directory, in the order of their names, into a tar file.
func pack(dir, to string, made time.Time) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), ModTime: made, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = io.Copy(w, in)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
