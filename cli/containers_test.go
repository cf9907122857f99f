package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/smolwc/smolwc/schema"
)

// The user of the image, whom packaging/image names too.
const imageUser = 65532

type quantities struct{ CPU, Memory, Storage string }

type names struct {
	Name   string
	Labels map[string]string
}

type port struct {
	Name          string
	Port          int
	TargetPort    string `yaml:"targetPort"`
	ContainerPort int    `yaml:"containerPort"`
}

type probe struct {
	HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
	PeriodSeconds    int                         `yaml:"periodSeconds"`
	FailureThreshold int                         `yaml:"failureThreshold"`
}

type container struct {
	Name, Image     string
	ImagePullPolicy string `yaml:"imagePullPolicy"`
	Args            []string
	Ports           []port
	Resources       struct{ Requests, Limits quantities }
	StartupProbe    probe `yaml:"startupProbe"`
	ReadinessProbe  probe `yaml:"readinessProbe"`
	LivenessProbe   probe `yaml:"livenessProbe"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type podSpec struct {
	ServiceAccountName            string `yaml:"serviceAccountName"`
	AutomountServiceAccountToken  *bool  `yaml:"automountServiceAccountToken"`
	TerminationGracePeriodSeconds int    `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot        bool                  `yaml:"runAsNonRoot"`
		RunAsUser           int                   `yaml:"runAsUser"`
		RunAsGroup          int                   `yaml:"runAsGroup"`
		FSGroup             int                   `yaml:"fsGroup"`
		FSGroupChangePolicy string                `yaml:"fsGroupChangePolicy"`
		SeccompProfile      struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container
	Volumes    []struct {
		Name     string
		EmptyDir map[string]string `yaml:"emptyDir"`
	}
}

// A manifest has the fields of Kubernetes that packaging/kubernetes.yaml uses: any other
// one, so also a misspelt one, is an error.
type manifest struct {
	APIVersion                   string `yaml:"apiVersion"`
	Kind                         string
	Metadata                     names
	AutomountServiceAccountToken *bool `yaml:"automountServiceAccountToken"`
}

type service struct {
	manifest `yaml:",inline"`
	Spec     struct {
		ClusterIP string `yaml:"clusterIP"`
		Selector  map[string]string
		Ports     []port
	}
}

type statefulSet struct {
	manifest `yaml:",inline"`
	Spec     struct {
		ServiceName string `yaml:"serviceName"`
		Replicas    int
		Selector    struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata names
			Spec     podSpec
		}
		VolumeClaimTemplates []struct {
			Metadata names
			Spec     struct {
				AccessModes []string `yaml:"accessModes"`
				Resources   struct{ Requests quantities }
			}
		} `yaml:"volumeClaimTemplates"`
	}
}

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// serveOf parses arguments of the binary with its own flags, and checks them as serve does.
func serveOf(t *testing.T, args []string) *serveRun {
	t.Helper()
	if len(args) == 0 || args[0] != "serve" {
		t.Fatalf("the arguments are %q, not those of serve", args)
	}
	r := &serveRun{command: &command{stderr: io.Discard}}
	flags := r.commandOf().Flags()
	if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 {
		t.Fatalf("%q: %v, and %q", args, err, flags.Args())
	}
	if err := r.check(); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKubernetesManifests(t *testing.T) {
	text, err := os.ReadFile("../packaging/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	if len(documents) != 3 {
		t.Fatalf("%d documents", len(documents))
	}
	var account manifest
	var svc service
	var set statefulSet
	strictly(t, documents[0], &account)
	strictly(t, documents[1], &svc)
	strictly(t, documents[2], &set)
	for want, m := range map[string]manifest{"v1 ServiceAccount": account, "v1 Service": svc.manifest, "apps/v1 StatefulSet": set.manifest} {
		if got := m.APIVersion + " " + m.Kind; got != want || m.Metadata.Name != "smolwc" {
			t.Errorf("got %s %s, want %s", got, m.Metadata.Name, want)
		}
	}
	pod := set.Spec.Template
	labels := fmt.Sprint(pod.Metadata.Labels)
	switch {
	case len(pod.Metadata.Labels) == 0 || fmt.Sprint(svc.Spec.Selector) != labels || fmt.Sprint(set.Spec.Selector.MatchLabels) != labels:
		t.Errorf("the pod has %s, the service selects %v, and the set %v", labels, svc.Spec.Selector, set.Spec.Selector)
	case set.Spec.ServiceName != svc.Metadata.Name || svc.Spec.ClusterIP != "None":
		t.Error("the set's service is not the headless one")
	case set.Spec.Replicas != 1:
		t.Error("two pods cannot write one database")
	case pod.Spec.ServiceAccountName != account.Metadata.Name || *account.AutomountServiceAccountToken || *pod.Spec.AutomountServiceAccountToken:
		t.Error("the pod has a token of Kubernetes")
	}
	checkPod(t, &pod.Spec)
	checkPorts(t, svc.Spec.Ports, &pod.Spec.Containers[0])
	checkVolumes(t, &set)
}

func checkPod(t *testing.T, pod *podSpec) {
	if len(pod.Containers) != 1 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	c, as := &pod.Containers[0], pod.SecurityContext
	if !as.RunAsNonRoot || as.RunAsUser != imageUser || as.RunAsGroup != imageUser || as.FSGroup != imageUser || as.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("the pod runs as %+v", as)
	}
	may := c.SecurityContext
	if !may.ReadOnlyRootFilesystem || *may.AllowPrivilegeEscalation || !slices.Equal(may.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the container may %+v", may)
	}
	r := serveOf(t, c.Args)
	if stop := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; stop < 2*r.grace {
		t.Errorf("the pod gets %v to stop, and the server gives calls %v", stop, r.grace)
	}
	memory, err := schema.ParseSize(r.memory)
	if err != nil {
		t.Fatal(err)
	}
	limit, err := schema.ParseSize(c.Resources.Limits.Memory + "B")
	if err != nil {
		t.Fatal(err)
	}
	if need := memory + r.limits.Bytes + 256<<20; limit < need { // docs/limits.md
		t.Errorf("the limit of memory is %d; the flags allow %d", limit, need)
	}
}

func checkPorts(t *testing.T, service []port, c *container) {
	r := serveOf(t, c.Args)
	for i, want := range []struct{ name, addr string }{{"grpc", r.addr}, {"http", r.http}} {
		inside, outside := c.Ports[i], service[i]
		if inside.Name != want.name || !strings.HasSuffix(want.addr, fmt.Sprint(":", inside.ContainerPort)) {
			t.Errorf("the container has %+v; the server listens on %s", inside, want.addr)
		}
		if outside.TargetPort != inside.Name || outside.Port != inside.ContainerPort {
			t.Errorf("the service has %+v, the container %+v", outside, inside)
		}
	}
	for path, p := range map[string][]probe{"/readyz": {c.StartupProbe, c.ReadinessProbe}, "/healthz": {c.LivenessProbe}} {
		for _, p := range p {
			if p.HTTPGet.Path != path || p.HTTPGet.Port != "http" || p.PeriodSeconds == 0 {
				t.Errorf("a probe is %+v, want %s", p, path)
			}
		}
	}
}

func checkVolumes(t *testing.T, set *statefulSet) {
	pod := &set.Spec.Template.Spec
	var volumes []string
	for _, v := range pod.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, v.Metadata.Name)
		if !slices.Equal(v.Spec.AccessModes, []string{"ReadWriteOnce"}) || v.Spec.Resources.Requests.Storage == "" {
			t.Errorf("the claim is %+v", v.Spec)
		}
	}
	mounted := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("there is no volume %s", m.Name)
		}
		mounted[m.MountPath] = m.Name
	}
	if mounted["/data"] != "data" || mounted["/tmp"] != "tmp" || len(mounted) != len(volumes) {
		t.Errorf("the volumes %q are at %v", volumes, mounted)
	}
}

func TestCompose(t *testing.T) {
	text, err := os.ReadFile("../packaging/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type composed struct {
		Image, User                    string
		Command, Ports, Volumes, Tmpfs []string
		ReadOnly                       bool     `yaml:"read_only"`
		CapDrop                        []string `yaml:"cap_drop"`
		SecurityOpt                    []string `yaml:"security_opt"`
		Ulimits                        map[string]int
		Healthcheck                    struct {
			Test              []string
			Interval, Timeout time.Duration
			Retries           int
		}
		StopGracePeriod time.Duration `yaml:"stop_grace_period"`
		Restart         string
	}
	var file struct {
		Name     string
		Services map[string]composed
		Volumes  map[string]any
	}
	strictly(t, text, &file)
	s, ok := file.Services["smolwc"]
	if !ok || len(file.Services) != 1 {
		t.Fatalf("the services are %v", file.Services)
	}
	r := serveOf(t, s.Command)
	if s.User != fmt.Sprintf("%d:%[1]d", imageUser) || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.Tmpfs, []string{"/tmp"}) {
		t.Errorf("the service is %+v", s)
	}
	for i, addr := range []string{r.addr, r.http} {
		port := addr[strings.LastIndexByte(addr, ':')+1:]
		if want := "127.0.0.1:" + port + ":" + port; s.Ports[i] != want {
			t.Errorf("port %s, want %s", s.Ports[i], want)
		}
	}
	if _, ok := file.Volumes["data"]; !ok || !slices.Equal(s.Volumes, []string{"data:/data"}) {
		t.Errorf("the volumes are %v, at %q", file.Volumes, s.Volumes)
	}
	if !slices.Equal(s.Healthcheck.Test, []string{"CMD", "/usr/bin/smolwc", "ping"}) || s.Healthcheck.Timeout < connectTime {
		t.Errorf("the health check is %+v", s.Healthcheck)
	}
	if s.StopGracePeriod < 2*r.grace {
		t.Errorf("the container gets %v to stop, and the server gives calls %v", s.StopGracePeriod, r.grace)
	}
}
