package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var overlays = []string{"demo", "production", "cluster"}

// workload is whatever makes pods.
type workload struct {
	name     string
	selector *metav1.LabelSelector // of a Job: nil
	pod      corev1.PodTemplateSpec
	replicas *int32
	deploys  bool // it is a Deployment
}

// cluster is what an overlay would make.
type cluster struct {
	workloads []workload
	services  []*corev1.Service
	settings  map[string]*corev1.ConfigMap
	secrets   map[string]*corev1.Secret
	budgets   []*policyv1.PodDisruptionBudget
	policies  []*networkingv1.NetworkPolicy
	ingresses []*networkingv1.Ingress
	hpas      []*autoscalingv2.HorizontalPodAutoscaler
	scalers   []*kedav1alpha1.ScaledObject
}

// edit replaces a text in a file below k8s before it is built.
type edit struct{ file, old, text string }

// build runs kustomize on an overlay and reads what comes out, strictly.
func build(t *testing.T, overlay string, edits ...edit) (*cluster, error) {
	t.Helper()
	disk := folder(t, edits)
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/k8s/overlays/"+overlay)
	if err != nil {
		return nil, err
	}
	text, err := made.AsYaml()
	require.NoError(t, err)
	return read(text)
}

// folder is ../k8s in memory, with the edits and with the secrets that people fill in.
func folder(t *testing.T, edits []edit) filesys.FileSystem {
	t.Helper()
	disk, source := filesys.MakeFsInMemory(), os.DirFS("../k8s")
	require.NoError(t, fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == "secrets.env" {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		for _, e := range edits {
			if e.file == name {
				require.Equal(t, 1, strings.Count(string(text), e.old), "%s holds %q once", name, e.old)
				text = []byte(strings.Replace(string(text), e.old, e.text, 1))
			}
		}
		if secrets, ok := strings.CutSuffix(name, ".example"); ok {
			name, text = secrets, filledIn(text)
		}
		return disk.WriteFile("/k8s/"+name, text)
	}))
	return disk
}

// filledIn is an example of secrets with all that was left open.
func filledIn(example []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(example)) {
		line = strings.TrimRight(strings.ReplaceAll(line, ":PASSWORD@", ":"+aSecret+"@"), "\n")
		if !strings.HasPrefix(line, "#") && strings.HasSuffix(line, "=") {
			line += aSecret
		}
		b.WriteString(line + "\n")
	}
	return []byte(b.String())
}

// kinds are those that a manifest may hold.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, policyv1.AddToScheme,
		networkingv1.AddToScheme, autoscalingv2.AddToScheme, kedav1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}()

// read decodes every document; a field that its kind does not have is an error.
func read(text []byte) (*cluster, error) {
	c := &cluster{settings: make(map[string]*corev1.ConfigMap), secrets: make(map[string]*corev1.Secret)}
	decoder := serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer()
	docs := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	defer docs.Close()
	for buffer := make([]byte, len(text)); ; {
		n, err := docs.Read(buffer)
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(buffer[:n], nil, nil)
		if err != nil {
			return nil, err
		}
		if err := c.add(object); err != nil {
			return nil, err
		}
	}
}

func (c *cluster) add(object runtime.Object) error {
	switch o := object.(type) {
	case *appsv1.Deployment:
		c.workloads = append(c.workloads, workload{o.Name, o.Spec.Selector, o.Spec.Template, o.Spec.Replicas, true})
	case *appsv1.StatefulSet:
		c.workloads = append(c.workloads, workload{o.Name, o.Spec.Selector, o.Spec.Template, o.Spec.Replicas, false})
	case *batchv1.Job:
		c.workloads = append(c.workloads, workload{o.Name, o.Spec.Selector, o.Spec.Template, nil, false})
	case *corev1.Service:
		c.services = append(c.services, o)
	case *corev1.ConfigMap:
		c.settings[o.Name] = o
	case *corev1.Secret:
		c.secrets[o.Name] = o
	case *policyv1.PodDisruptionBudget:
		c.budgets = append(c.budgets, o)
	case *networkingv1.NetworkPolicy:
		c.policies = append(c.policies, o)
	case *networkingv1.Ingress:
		c.ingresses = append(c.ingresses, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		c.hpas = append(c.hpas, o)
	case *kedav1alpha1.ScaledObject:
		c.scalers = append(c.scalers, o)
	case *corev1.ServiceAccount, *corev1.Namespace:
	default:
		return fmt.Errorf("a %T that no rule looks at", o)
	}
	return nil
}

// named finds a workload.
func (c *cluster) named(name string) (workload, bool) {
	for _, w := range c.workloads {
		if w.name == name {
			return w, true
		}
	}
	return workload{}, false
}

// ours tells whether a container runs a program of ours.
func ours(k corev1.Container) bool {
	name, _, _ := strings.Cut(path.Base(k.Image), ":")
	return name == "seckill"
}

// environ is what a container's program finds in its environment; what is kept in a secret
// that is made elsewhere stands there as some value.
func (c *cluster) environ(k corev1.Container) map[string]string {
	all := make(map[string]string)
	for _, from := range k.EnvFrom {
		if from.ConfigMapRef != nil && c.settings[from.ConfigMapRef.Name] != nil {
			for name, value := range c.settings[from.ConfigMapRef.Name].Data {
				all[name] = value
			}
		}
	}
	for _, e := range k.Env {
		all[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			all[e.Name] = c.secret(e.Name, e.ValueFrom.SecretKeyRef)
		}
	}
	return all
}

func (c *cluster) secret(variable string, ref *corev1.SecretKeySelector) string {
	if s := c.secrets[ref.Name]; s != nil {
		return string(s.Data[ref.Key])
	}
	if variable == "SECKILL_MYSQL_DSN" { // the only one whose form is checked
		return "seckill:" + aSecret + "@tcp(db:3306)/seckill"
	}
	return aSecret
}
