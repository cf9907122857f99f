package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A manifest holds what this program needs of a StatefulSet, a Deployment or a ConfigMap.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string // of a ConfigMap
	Spec     struct {
		ServiceName string `yaml:"serviceName"` // of a StatefulSet
		Replicas    int
		Template    struct {
			Spec struct {
				Containers []container
				Volumes    []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
}

type container struct {
	Command, Args []string
	Ports         []port
	VolumeMounts  []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type port struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
}

// A pod is one process.
type pod struct {
	name, program string
	args          []string
	ports         []port
	addrs         map[int]string // of this machine, by the ports of the container
	log           string         // the file with what it says
}

// podsOf are the pods that a file describes. Their volumes are directories in dir, and each
// of their ports gets an address of this machine, which replaces the pod's own in arguments
// and in files.
func podsOf(text []byte, dir string, address func() string) (pods []*pod, err error) {
	maps := map[string]map[string]string{}
	var sets []manifest
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		switch m.Kind {
		case "ConfigMap":
			maps[m.Metadata.Name] = m.Data
		case "StatefulSet", "Deployment":
			if n := len(m.Spec.Template.Spec.Containers); n != 1 {
				return nil, fmt.Errorf("%s %s has %d containers; want 1", m.Kind, m.Metadata.Name, n)
			}
			sets = append(sets, m)
		}
	}
	var hosts []string // and their addresses
	for _, m := range sets {
		c := m.Spec.Template.Spec.Containers[0]
		for i := range m.Spec.Replicas {
			p := &pod{name: fmt.Sprint(m.Metadata.Name, "-", i), program: "smolwc", ports: c.Ports, addrs: map[int]string{}}
			if len(c.Command) > 0 {
				p.program = c.Command[0]
			}
			p.log = filepath.Join(dir, p.name+".log")
			for _, port := range c.Ports {
				p.addrs[port.ContainerPort] = address()
				hosts = append(hosts, fmt.Sprintf("%s.%s:%d", p.name, m.Spec.ServiceName, port.ContainerPort), p.addrs[port.ContainerPort])
			}
			pods = append(pods, p)
		}
	}
	named := strings.NewReplacer(hosts...)
	for _, m := range sets {
		for i := range m.Spec.Replicas {
			name := fmt.Sprint(m.Metadata.Name, "-", i)
			for _, p := range pods {
				if p.name == name {
					if err := p.fill(m, maps, named, filepath.Join(dir, name)); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return pods, nil
}

// fill makes the volumes of a pod, and its arguments.
func (p *pod) fill(m manifest, maps map[string]map[string]string, named *strings.Replacer, dir string) error {
	c := m.Spec.Template.Spec.Containers[0]
	var own []string // what is the pod's own in an argument, and what takes its place
	for container, addr := range p.addrs {
		own = append(own, fmt.Sprint("0.0.0.0:", container), addr)
	}
	for _, v := range c.VolumeMounts {
		at := filepath.Join(dir, v.Name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		own = append(own, "="+v.MountPath+"/", "="+at+"/")
		for _, volume := range m.Spec.Template.Spec.Volumes {
			if volume.Name != v.Name {
				continue
			}
			for file, text := range maps[volume.ConfigMap.Name] {
				if err := os.WriteFile(filepath.Join(at, file), []byte(named.Replace(text)), 0o644); err != nil {
					return err
				}
			}
		}
	}
	mine := strings.NewReplacer(own...)
	for _, arg := range c.Args {
		p.args = append(p.args, mine.Replace(named.Replace(strings.ReplaceAll(arg, "$(POD_NAME)", p.name))))
	}
	return nil
}
