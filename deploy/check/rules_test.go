package check

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// faults are what is wrong with a cluster, one sentence each.
func (c *cluster) faults(ctx context.Context) (all []string) {
	for _, w := range c.workloads {
		all = append(all, in(w.name, c.wrongPod(ctx, w))...)
		all = append(all, in(w.name, c.wrongSelector(w))...)
	}
	all = append(all, c.wrongServices()...)
	all = append(all, c.wrongPolicies()...)
	all = append(all, c.wrongBudgets()...)
	all = append(all, c.wrongAutoscalers()...)
	for _, s := range c.scalers {
		all = append(all, in("scaler "+s.Name, c.wrongScaler(s))...)
	}
	return all
}

// in says where faults are.
func in(where string, faults []string) []string {
	for i, f := range faults {
		faults[i] = where + ": " + f
	}
	return faults
}

func (c *cluster) wrongPod(ctx context.Context, w workload) (faults []string) {
	spec := w.pod.Spec
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		faults = append(faults, "is given a token of the cluster")
	}
	if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		faults = append(faults, "is given variables of services beside its settings")
	}
	s := spec.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 {
		faults = append(faults, "may be root")
	}
	if s == nil || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		faults = append(faults, "has no seccomp profile")
	}
	for _, k := range spec.Containers {
		faults = append(faults, wrongContainer(k)...)
		faults = append(faults, c.wrongReferences(k)...)
		if ours(k) {
			environ := c.environ(k)
			faults = append(faults, wrongSettings(k.Command, environ)...)
			if environ["SECKILL_OPS_ADDR"] != "" || environ["SECKILL_HTTP_ADDR"] != "" {
				faults = append(faults, "a setting moves its port")
			}
			faults = append(faults, wrongPorts(k)...)
			faults = append(faults, wrongProbes(ctx, k)...)
			faults = append(faults, wrongEnd(spec, k)...)
		}
	}
	return faults
}

func wrongContainer(k corev1.Container) []string {
	faults := loose(k.Image)
	s := k.SecurityContext
	if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		faults = append(faults, "may write into its image")
	}
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
		s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
		faults = append(faults, "keeps privileges")
	}
	for name, limit := range k.Resources.Limits {
		if asked, ok := k.Resources.Requests[name]; !ok || asked.Cmp(limit) > 0 {
			faults = append(faults, fmt.Sprintf("asks for more %s than it may have", name))
		}
	}
	if k.Resources.Requests.Cpu().IsZero() || k.Resources.Limits.Memory().IsZero() {
		faults = append(faults, "asks for no CPU, or has no limit of memory")
	}
	return append(faults, wrongMemory(k)...)
}

// wrongMemory holds what the collector heeds below what the kernel kills at.
func wrongMemory(k corev1.Container) []string {
	for _, e := range k.Env {
		if e.Name != "GOMEMLIMIT" {
			continue
		}
		soft, err := resource.ParseQuantity(strings.TrimSuffix(e.Value, "B"))
		if err != nil || soft.Cmp(*k.Resources.Limits.Memory()) >= 0 {
			return []string{"GOMEMLIMIT is not below the limit of memory"}
		}
	}
	return nil
}

// wrongReferences are settings and secrets that nobody makes. A secret that is made elsewhere
// has the keys that README.md names.
func (c *cluster) wrongReferences(k corev1.Container) (faults []string) {
	for _, from := range k.EnvFrom {
		if from.ConfigMapRef == nil || c.settings[from.ConfigMapRef.Name] == nil {
			faults = append(faults, fmt.Sprintf("takes settings from %+v, which nobody makes", from))
		}
	}
	for _, e := range k.Env {
		if e.ValueFrom == nil {
			if strings.Contains(e.Name, "SECRET") || strings.Contains(e.Name, "DSN") {
				faults = append(faults, e.Name+" stands in the manifest")
			}
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		if ref == nil || !c.has(ref) {
			faults = append(faults, e.Name+" comes from a secret that nobody makes")
		}
	}
	return faults
}

var secretRow = regexp.MustCompile("(?m)^\\| `(SECKILL_[A-Z_]+)` \\|")

func (c *cluster) has(ref *corev1.SecretKeySelector) bool {
	if s := c.secrets[ref.Name]; s != nil {
		return len(s.Data[ref.Key]) > 0
	}
	page, err := os.ReadFile("../README.md")
	if err != nil || ref.Name != "seckill" {
		return false
	}
	return slices.ContainsFunc(secretRow.FindAllSubmatch(page, -1), func(m [][]byte) bool { return string(m[1]) == ref.Key })
}

func wrongPorts(k corev1.Container) (faults []string) {
	p, err := programOf(k.Command)
	if err != nil {
		return nil // it was told already
	}
	if len(k.Ports) != len(p.ports) {
		faults = append(faults, fmt.Sprintf("names %d ports, and listens on %d", len(k.Ports), len(p.ports)))
	}
	for _, port := range k.Ports {
		if int(port.ContainerPort) != p.ports[port.Name] {
			faults = append(faults, fmt.Sprintf("port %s is %d, not %d", port.Name, p.ports[port.Name], port.ContainerPort))
		}
	}
	return faults
}

func wrongProbes(ctx context.Context, k corev1.Container) (faults []string) {
	if len(k.Ports) == 0 {
		return nil // it ends by itself
	}
	for name, probe := range map[string]*corev1.Probe{"startup": k.StartupProbe, "liveness": k.LivenessProbe, "readiness": k.ReadinessProbe} {
		switch {
		case probe == nil || probe.HTTPGet == nil:
			faults = append(faults, "has no "+name+" probe over HTTP: its image has nothing to execute")
		case probe.HTTPGet.Port != intstr.FromString("ops") || !probed(ctx, probe.HTTPGet.Path):
			faults = append(faults, "does not answer its "+name+" probe")
		case name == "readiness" && (probe.HTTPGet.Path != "/readyz" || seconds(int64(probe.TimeoutSeconds)) < readyMin):
			faults = append(faults, "is not given the time to say that it is not ready")
		case name != "readiness" && probe.HTTPGet.Path != "/livez":
			faults = append(faults, "is killed when a store is away")
		}
	}
	return faults
}

// wrongEnd is about the time between the decision to end a pod and its death.
func wrongEnd(spec corev1.PodSpec, k corev1.Container) []string {
	grace := 30 * time.Second
	if spec.TerminationGracePeriodSeconds != nil {
		grace = seconds(*spec.TerminationGracePeriodSeconds)
	}
	var before time.Duration
	if k.Lifecycle != nil && k.Lifecycle.PreStop != nil {
		if k.Lifecycle.PreStop.Sleep == nil {
			return []string{"executes something before it stops: its image has nothing to execute"}
		}
		before = seconds(k.Lifecycle.PreStop.Sleep.Seconds)
	}
	if before == 0 && slices.ContainsFunc(k.Ports, func(p corev1.ContainerPort) bool { return p.Name == "http" }) {
		return []string{"stops listening before buyers are sent elsewhere"}
	}
	return tooShort(grace - before)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// wrongSelector holds what a workload selects to what it makes.
func (c *cluster) wrongSelector(w workload) (faults []string) {
	if w.selector != nil && !selects(w.selector, w.pod.Labels) {
		faults = append(faults, "does not select its own pods")
	}
	for _, s := range w.pod.Spec.TopologySpreadConstraints {
		if !selects(s.LabelSelector, w.pod.Labels) {
			faults = append(faults, "spreads other pods than its own")
		}
	}
	if w.deploys && len(w.pod.Spec.TopologySpreadConstraints) == 0 {
		faults = append(faults, "may stand on one node whole")
	}
	return faults
}

func selects(s *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// selected are the workloads whose pods a selector finds.
func (c *cluster) selected(s *metav1.LabelSelector) (found []workload) {
	for _, w := range c.workloads {
		if selects(s, w.pod.Labels) {
			found = append(found, w)
		}
	}
	return found
}

func listens(w workload, port intstr.IntOrString) bool {
	return slices.ContainsFunc(w.pod.Spec.Containers, func(k corev1.Container) bool {
		return slices.ContainsFunc(k.Ports, func(p corev1.ContainerPort) bool {
			return p.Name == port.StrVal || port.IntVal != 0 && p.ContainerPort == port.IntVal
		})
	})
}

func (c *cluster) wrongServices() (faults []string) {
	for _, s := range c.services {
		found := c.selected(&metav1.LabelSelector{MatchLabels: s.Spec.Selector})
		for _, p := range s.Spec.Ports {
			if len(found) != 1 || !listens(found[0], p.TargetPort) {
				faults = append(faults, fmt.Sprintf("service %s: nobody listens on %s", s.Name, p.TargetPort.String()))
			}
		}
	}
	for _, i := range c.ingresses {
		for _, r := range i.Spec.Rules {
			for _, p := range r.HTTP.Paths {
				if !c.serves(p.Backend.Service) {
					faults = append(faults, fmt.Sprintf("ingress %s: leads nowhere", i.Name))
				}
			}
		}
	}
	return faults
}

func (c *cluster) serves(b *networkingv1.IngressServiceBackend) bool {
	return b != nil && slices.ContainsFunc(c.services, func(s *corev1.Service) bool {
		return s.Name == b.Name && slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == b.Port.Name })
	})
}
