package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
)

// wrongPolicies demands a policy for every pod, and that operations are open to the namespace of
// the monitoring alone.
func (c *cluster) wrongPolicies() (faults []string) {
	held := make(map[string]bool)
	for _, p := range c.policies {
		found := c.selected(&p.Spec.PodSelector)
		if len(found) == 0 {
			faults = append(faults, "policy "+p.Name+": is about no pod")
		}
		for _, w := range found {
			held[w.name] = true
			for _, rule := range p.Spec.Ingress {
				faults = append(faults, in("policy "+p.Name, wrongRule(w, rule))...)
			}
		}
	}
	for _, w := range c.workloads {
		if !held[w.name] {
			faults = append(faults, w.name+": no policy says who may connect")
		}
	}
	return faults
}

func wrongRule(w workload, rule networkingv1.NetworkPolicyIngressRule) (faults []string) {
	if len(rule.Ports) == 0 {
		faults = append(faults, "opens every port")
	}
	for _, port := range rule.Ports {
		if port.Port == nil || !listens(w, *port.Port) {
			faults = append(faults, "opens a port on which nobody listens")
			continue
		}
		monitoring := func(p networkingv1.NetworkPolicyPeer) bool {
			return p.NamespaceSelector != nil && p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] == "monitoring"
		}
		if port.Port.StrVal != "http" && len(rule.From) == 0 ||
			port.Port.StrVal == "ops" && !slices.ContainsFunc(rule.From, monitoring) {
			faults = append(faults, "lets anybody at "+port.Port.String())
		}
	}
	return faults
}

func (c *cluster) wrongBudgets() (faults []string) {
	held := make(map[string]bool)
	for _, b := range c.budgets {
		for _, w := range c.selected(b.Spec.Selector) {
			held[w.name] = true
		}
		if b.Spec.MaxUnavailable == nil {
			faults = append(faults, "budget "+b.Name+": of a single pod it would block every drain")
		}
	}
	for _, w := range c.workloads {
		if w.deploys && !held[w.name] {
			faults = append(faults, w.name+": no budget keeps drained nodes apart")
		}
	}
	return faults
}

// wrongAutoscalers also says where two would set one number of replicas.
func (c *cluster) wrongAutoscalers() (faults []string) {
	count := make(map[string]int)
	for _, w := range c.workloads {
		if w.deploys && w.replicas != nil {
			count[w.name]++
		}
	}
	for _, h := range c.hpas {
		count[h.Spec.ScaleTargetRef.Name]++
		if h.Spec.MinReplicas == nil || *h.Spec.MinReplicas < 2 || *h.Spec.MinReplicas > h.Spec.MaxReplicas {
			faults = append(faults, "autoscaler "+h.Name+": a single api is none while its node dies")
		}
	}
	for _, s := range c.scalers {
		count[s.Spec.ScaleTargetRef.Name]++
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if w, ok := c.named(name); !ok || !w.deploys {
			faults = append(faults, name+": is scaled, and does not exist")
		}
	}
	for _, w := range c.workloads {
		if w.deploys && count[w.name] != 1 {
			faults = append(faults, fmt.Sprintf("%s: %d say how many there are", w.name, count[w.name]))
		}
	}
	return faults
}

// What a trigger on a stream may say. KEDA passes over what it does not know.
var triggerKeys = []string{
	"addressesFromEnv", "usernameFromEnv", "passwordFromEnv", "sentinelMasterFromEnv", "databaseIndex", "enableTLS",
	"stream", "streamLength",
}

func (c *cluster) wrongScaler(s *kedav1alpha1.ScaledObject) (faults []string) {
	w, ok := c.named(s.Spec.ScaleTargetRef.Name)
	if !ok {
		return nil // it was told already
	}
	for _, err := range []error{kedav1alpha1.ValidateTriggers(s.Spec.Triggers), kedav1alpha1.CheckReplicaCountBoundsAreValid(s), kedav1alpha1.CheckFallbackValid(s)} {
		if err != nil {
			faults = append(faults, err.Error())
		}
	}
	if s.Spec.MinReplicaCount == nil || *s.Spec.MinReplicaCount < 1 {
		faults = append(faults, "leaves no worker for the next order")
	}
	if f := s.Spec.Fallback; f == nil || f.Behavior != "currentReplicasIfHigher" || f.Replicas > s.GetHPAMaxReplicas() {
		faults = append(faults, "takes workers away, or makes too many, when it cannot ask")
	}
	environ := c.environ(w.pod.Spec.Containers[0])
	var streams []string
	for _, trigger := range s.Spec.Triggers {
		faults = append(faults, wrongTrigger(trigger, environ)...)
		streams = append(streams, trigger.Metadata["stream"])
	}
	if want := streamsOf(environ["SECKILL_PARTITIONS"]); !slices.Equal(streams, want) {
		faults = append(faults, fmt.Sprintf("looks at %q, and orders are in %q", streams, want))
	}
	if len(streams) > 1 && sumOf(s) != formulaOf(s.Spec.Advanced) {
		faults = append(faults, "its formula is not the sum of its triggers")
	}
	return faults
}

// wrongTrigger holds a trigger to how the workers reach Redis.
func wrongTrigger(trigger kedav1alpha1.ScaleTriggers, environ map[string]string) (faults []string) {
	kind := "redis-streams"
	switch {
	case environ["SECKILL_REDIS_MASTER"] != "":
		kind = "redis-sentinel-streams"
	case strings.Contains(environ["SECKILL_REDIS_ADDRS"], ","):
		kind = "redis-cluster-streams"
	}
	if trigger.Type != kind {
		faults = append(faults, fmt.Sprintf("asks by %s, where the workers need %s", trigger.Type, kind))
	}
	for key, value := range trigger.Metadata {
		if !slices.Contains(triggerKeys, key) {
			faults = append(faults, "a trigger says "+key)
		}
		if _, known := environ[value]; strings.HasSuffix(key, "FromEnv") && !known {
			faults = append(faults, "workers have no "+value)
		}
	}
	if environ["SECKILL_REDIS_TLS"] == "true" && trigger.Metadata["enableTLS"] != "true" {
		faults = append(faults, "asks without TLS")
	}
	return faults
}

// sumOf is the sum of a scaler's triggers as a formula.
func sumOf(s *kedav1alpha1.ScaledObject) string {
	var all []string
	for _, trigger := range s.Spec.Triggers {
		all = append(all, trigger.Name)
	}
	return strings.Join(all, " + ")
}

var spaces = regexp.MustCompile(`\s+`)

func formulaOf(a *kedav1alpha1.AdvancedConfig) string {
	if a == nil {
		return ""
	}
	return spaces.ReplaceAllString(a.ScalingModifiers.Formula, " ")
}
