// Chinese of the pages of pipelines.
export default {
  "Not served by this platform": "此平台未提供", "This part of Kubeflow Pipelines is not there.": "Kubeflow Pipelines 的这一部分不可用。",
  "Runs": "运行", "Run it": "运行", "New run": "新建运行", "Experiment": "实验", "Experiments": "实验", "Pipeline": "流水线", "sent with the run": "随运行提交", "Started": "开始于", "No runs yet": "还没有运行", "Start one here, or with the kfp SDK.": "在这里启动，或使用 kfp SDK。",
  "loop": "循环", "always at the end": "最后总会执行", "if": "条件", "{n} step": "{n} 个步骤", "{n} steps": "{n} 个步骤", "There is nothing in it.": "其中没有内容。", "Open {name}": "打开 {name}",
  "Description": "描述", "All its versions go; runs stay.": "其所有版本都会删除；运行会保留。", "Upload a pipeline": "上传流水线", "No pipelines yet": "还没有流水线", "Compile one with the kfp SDK and upload its YAML.": "用 kfp SDK 编译并上传其 YAML。", "Uploaded.": "已上传。", "Upload a version": "上传版本",
  "Drop the compiled pipeline here (YAML, zip or tar.gz), or click to choose it.": "将编译好的流水线（YAML、zip 或 tar.gz）拖到这里，或点击选择。", "Upload": "上传", "Version": "版本", "Versions": "版本", "Graph": "图", "It has no version yet": "还没有版本", "Whole pipeline": "整个流水线",
  "artifact": "制品", "Inputs": "输入", "Outputs": "输出", "Condition": "条件", "It takes no parameters. Choose a step to see what it is.": "没有参数。选择一个步骤查看详情。",
  "Active": "当前", "Archive": "归档", "Clone": "克隆", "Stop {name}?": "停止 {name}？", "Its pods end; what they have made so far stays.": "其 Pod 将结束；已产生的内容会保留。", "Failed steps are tried again.": "失败的步骤将重试。", "Retry": "重试", "Taken out of the archive.": "已移出归档。", "Restore": "恢复", "Put into the archive.": "已归档。",
  "Its record is lost; artifacts stay where they are.": "其记录会丢失；制品保留在原处。", "Details": "详情", "Iteration": "迭代", "Pod": "Pod", "It did not run: its condition was false, or its result was in the cache.": "未执行：条件不成立，或结果已在缓存中。", "Parameters": "参数", "The pipeline's own defaults.": "流水线的默认值。", "States": "状态",
  "This is not a number of that kind.": "不是该类型的数字。", "This is not JSON.": "不是 JSON。", "Clone of {name}": "{name} 的克隆", "The run has begun.": "运行已开始。", "The same pipeline as the run that is cloned.": "与被克隆的运行相同的流水线。", "This pipeline takes none.": "此流水线没有参数。",
  "Last 5 runs": "最近 5 次运行", "Last run": "最近运行", "Experiment {name} is there.": "实验 {name} 已创建。", "New experiment": "新建实验", "No experiments yet": "还没有实验", "They group runs; the first run makes one named Default.": "实验用于组织运行；首次运行会创建名为 Default 的实验。",
  "every {time}": "每 {time}", "Schedule": "计划", "At a time": "并发数", "Switch on": "启用", "Switch off": "停用", "Off": "停用", "On": "启用", "Runs that it has made stay.": "它已创建的运行会保留。", "Recurring runs": "周期运行", "No recurring runs yet": "还没有周期运行", "Make one with the kfp SDK: create_recurring_run.": "用 kfp SDK 的 create_recurring_run 创建。",
  "Paused": "已暂停", "Stopping": "停止中", "Skipped": "已跳过", "Canceled": "已取消",
} as Record<string, string>;
