// -session FILE: one session over a whole cluster, timed. The file has one Kubernetes object per
// line, the configuration as a ConfigMap, as bench/scheduler_session --write makes it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	schedv1 "k8s.io/api/scheduling/v1"
	"k8s.io/client-go/tools/record"

	schedulingv1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/cache"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/util"
)

func addObject(sc *cache.SchedulerCache, line []byte, config *string) error {
	var head struct {
		Kind string            `json:"kind"`
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return err
	}
	switch head.Kind {
	case "ConfigMap":
		*config = head.Data["volcano-scheduler.conf"]
	case "Node":
		object := &v1.Node{}
		if err := json.Unmarshal(line, object); err != nil {
			return err
		}
		return sc.AddOrUpdateNode(object)
	case "Queue":
		object := &schedulingv1.Queue{}
		if err := json.Unmarshal(line, object); err != nil {
			return err
		}
		sc.AddQueueV1beta1(object)
	case "PriorityClass":
		object := &schedv1.PriorityClass{}
		if err := json.Unmarshal(line, object); err != nil {
			return err
		}
		sc.AddPriorityClass(object)
	case "PodGroup":
		object := &schedulingv1.PodGroup{}
		if err := json.Unmarshal(line, object); err != nil {
			return err
		}
		sc.AddPodGroupV1beta1(object)
	case "Pod":
		object := &v1.Pod{}
		if err := json.Unmarshal(line, object); err != nil {
			return err
		}
		sc.AddPod(object)
	default:
		return fmt.Errorf("no such kind: %s", head.Kind)
	}
	return nil
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func maxRSS() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kb, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kb / 1024
		}
	}
	return 0
}

func timeSession(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	stop := make(chan struct{})
	defer close(stop)
	sc := cache.NewCustomMockSchedulerCache("volcano", ignoreBinds{}, util.NewFakeEvictor(1<<20), &util.FakeStatusUpdater{}, nil, &record.FakeRecorder{})
	sc.Run(stop)
	config := ""
	in := bufio.NewScanner(file)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	for in.Scan() {
		if err := addObject(sc, in.Bytes(), &config); err != nil {
			return err
		}
	}
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(config)
	if err != nil {
		return err
	}
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	runtime.GC()

	start, cpu := time.Now(), cpuTime()
	ssn := framework.OpenSession(sc, tiers, configurations)
	for _, action := range actions {
		action.Initialize()
		action.Execute(ssn)
		action.UnInitialize()
	}
	decided := time.Since(start)
	binds, evictions, pipelined := 0, 0, 0
	for _, job := range ssn.Jobs {
		for _, task := range job.Tasks {
			switch task.Status {
			case api.Binding:
				binds++
			case api.Releasing:
				evictions++
			case api.Pipelined:
				pipelined++
			}
		}
	}
	counted := time.Now()
	framework.CloseSession(ssn)
	session := decided + time.Since(counted)
	cpu = cpuTime() - cpu
	fmt.Printf("{\"scheduler\":\"volcano\",\"session_ms\":%.3f,\"cpu_ms\":%.3f,\"binds\":%d,\"evictions\":%d,\"pipelined\":%d,\"pods_per_s\":%.0f,\"max_rss_mb\":%.1f}\n",
		float64(session.Microseconds())/1000, cpu.Seconds()*1000, binds, evictions, pipelined, float64(binds)/session.Seconds(), maxRSS())
	return nil
}
