// The real Volcano as an oracle: reads cases, one JSON object per line, runs one session of
// Volcano's scheduler over each in process, and prints what it decided, one JSON object per line.
// Volcano draws lots among equally good nodes; here the lowest name wins, as in Hekla.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"

	v1 "k8s.io/api/core/v1"
	schedv1 "k8s.io/api/scheduling/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/cmd/scheduler/app/options"
	"volcano.sh/volcano/pkg/scheduler"
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/metrics"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"
	"volcano.sh/volcano/pkg/scheduler/util"
)

type testCase struct {
	Seed            int                      `json:"seed"`
	Config          string                   `json:"config"`
	Nodes           []*v1.Node               `json:"nodes"`
	Queues          []*schedulingv1.Queue    `json:"queues"`
	PriorityClasses []*schedv1.PriorityClass `json:"priorityClasses"`
	PodGroups       []*schedulingv1.PodGroup `json:"podGroups"`
	Pods            []*v1.Pod                `json:"pods"`
}

type outcome struct {
	Seed      int               `json:"seed"`
	Binds     map[string]string `json:"binds"`
	Evictions map[string]string `json:"evictions"`
	Pipelined map[string]string `json:"pipelined"`
	Phases    map[string]string `json:"phases"`
}

type ignoreBinds struct{}

func (ignoreBinds) Bind(kubernetes.Interface, []*api.TaskInfo) map[api.TaskID]string { return nil }

const lowestName = "lowest-name"

type lowestNamePlugin struct{}

func (lowestNamePlugin) Name() string                          { return lowestName }
func (lowestNamePlugin) OnSessionClose(ssn *framework.Session) {}
func (lowestNamePlugin) OnSessionOpen(ssn *framework.Session) {
	ssn.AddBestNodeFn(lowestName, func(_ *api.TaskInfo, scores map[float64][]*api.NodeInfo) *api.NodeInfo {
		best := math.Inf(-1)
		for score := range scores {
			best = math.Max(best, score)
		}
		var chosen *api.NodeInfo
		for score, nodes := range scores {
			// Sums of the same terms in another order differ in the last digits.
			if best-score > 1e-6 {
				continue
			}
			for _, node := range nodes {
				if chosen == nil || node.Name < chosen.Name {
					chosen = node
				}
			}
		}
		return chosen
	})
}

func decide(c *testCase) (outcome, error) {
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(c.Config)
	if err != nil {
		return outcome{}, err
	}
	yes := true
	tiers[0].Plugins = append(tiers[0].Plugins, conf.PluginOption{Name: lowestName, EnabledBestNode: &yes})
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}

	stop := make(chan struct{})
	defer close(stop)
	sc := cache.NewCustomMockSchedulerCache("volcano", ignoreBinds{}, util.NewFakeEvictor(1000), &util.FakeStatusUpdater{}, nil, &record.FakeRecorder{})
	sc.Run(stop)
	for _, class := range c.PriorityClasses {
		sc.AddPriorityClass(class)
	}
	for _, node := range c.Nodes {
		if err := sc.AddOrUpdateNode(node); err != nil {
			return outcome{}, err
		}
	}
	for _, queue := range c.Queues {
		sc.AddQueueV1beta1(queue)
	}
	for _, group := range c.PodGroups {
		sc.AddPodGroupV1beta1(group)
	}
	releasing := map[string]bool{}
	for _, pod := range c.Pods {
		releasing[pod.Name] = pod.DeletionTimestamp != nil
		sc.AddPod(pod)
	}

	ssn := framework.OpenSession(sc, tiers, configurations)
	for _, action := range actions {
		action.Initialize()
		action.Execute(ssn)
		action.UnInitialize()
	}
	out := outcome{c.Seed, map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}}
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			switch {
			case task.Status == api.Binding:
				out.Binds[task.Name] = task.NodeName
			case task.Status == api.Pipelined:
				out.Pipelined[task.Name] = task.NodeName
			case task.Status == api.Releasing && !releasing[task.Name]:
				out.Evictions[task.Name] = task.NodeName
			}
		}
	}
	jobs := ssn.Jobs
	framework.CloseSession(ssn)
	for _, job := range jobs {
		if job.PodGroup != nil {
			out.Phases[job.Name] = string(job.PodGroup.Status.Phase)
		}
	}
	return out, nil
}

func main() {
	verbosity := flag.Int("v", -1, "Volcano's log level, on stderr")
	session := flag.String("session", "", "time one session over this file of objects instead")
	flag.Parse()
	logs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logs)
	if *verbosity < 0 {
		_ = logs.Parse([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL", "-log_file=/dev/null"})
	} else {
		_ = logs.Parse([]string{"-logtostderr=true", fmt.Sprintf("-v=%d", *verbosity)})
	}
	options.Default()
	metrics.InitKubeSchedulerRelatedMetrics()
	if *session != "" {
		if err := timeSession(*session); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	options.ServerOpts.PercentageOfNodesToFind = 100
	framework.RegisterPluginBuilder(lowestName, func(framework.Arguments) framework.Plugin { return lowestNamePlugin{} })

	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	writer := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, "cannot read a case:", err)
			os.Exit(1)
		}
		out, err := decide(&c)
		if err != nil {
			fmt.Fprintln(os.Stderr, "seed", c.Seed, "failed:", err)
			os.Exit(1)
		}
		_ = writer.Encode(out)
	}
}
