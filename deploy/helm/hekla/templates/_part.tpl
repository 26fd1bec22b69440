{{/* On Hekla's own server its processes are there already: what is installed shows them. */}}
{{- define "hekla.isBuiltIn" -}}
{{- if contains "+hekla" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/* The image of a part: dict "root" $ "part" NAME. */}}
{{- define "hekla.image" -}}
{{- $root := .root }}
{{- if include "hekla.isBuiltIn" $root -}}
{{- $names := dict "scheduler" "vc-scheduler" "controllers" "vc-controller-manager" "admission" "vc-webhook-manager" }}
{{- printf "hekla/%s:%s" (get $names .part | default .part) $root.Chart.AppVersion }}
{{- else -}}
{{- required "basic.image is not set: give the image of Hekla, such as --set basic.image=REGISTRY/hekla:VERSION (hekla install --push REGISTRY/hekla builds and pushes one)" $root.Values.basic.image }}
{{- end }}
{{- end }}

{{- define "hekla.labels" -}}
app.kubernetes.io/name: hekla
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.custom.common_labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "hekla.secretName" -}}
{{- .Values.basic.admission_secret_name | default (ternary "hekla-webhook-certificate" "volcano-admission-secret" .Values.custom.operator_enable) }}
{{- end }}

{{- define "hekla.webhookService" -}}
{{- if not .Values.custom.operator_enable }}{{ .Release.Name }}-admission-service
{{- else if eq .Release.Name "hekla" }}hekla-webhook{{ else }}{{ .Release.Name }}-hekla-webhook{{ end }}
{{- end }}

{{/* Where cert-manager's certificate is mounted: the flags that name it. */}}
{{- define "hekla.certificateArgs" -}}
{{- if .Values.custom.cert_manager_enable }}
- --tls-cert-file=/certificates/tls.crt
- --tls-private-key-file=/certificates/tls.key
- --ca-cert-file=/certificates/ca.crt
{{- end }}
{{- end }}

{{/* The roles of a part, from rbac/PART.yaml: dict "root" $ "part" NAME, "owner" where admission is in it. */}}
{{- define "hekla.access" -}}
{{- $root := .root }}
{{- $name := printf "%s-%s" $root.Release.Name .part }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "hekla.labels" $root | nindent 4 }}
{{- range splitList "\n---" ($root.Files.Get (printf "rbac/%s.yaml" .part)) }}
{{- $role := fromYaml . }}
{{- if $role.rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}
metadata:
  name: {{ $name }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $root.Release.Namespace }}
  {{- end }}
  labels: {{- include "hekla.labels" $root | nindent 4 }}
rules:
  {{- toYaml $role.rules | nindent 2 }}
  {{- if and $.owner (eq $role.kind "ClusterRole") }}
  # The webhooks' registrations belong to this role, and go with it.
  - apiGroups: [rbac.authorization.k8s.io]
    resources: [clusterroles]
    resourceNames: [{{ $name }}]
    verbs: [get]
  {{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}Binding
metadata:
  name: {{ ternary (printf "%s-role" $name) $name (eq $role.kind "ClusterRole") }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $root.Release.Namespace }}
  {{- end }}
  labels: {{- include "hekla.labels" $root | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: {{ $name }}
    namespace: {{ $root.Release.Namespace }}
roleRef:
  kind: {{ $role.kind }}
  name: {{ $name }}
  apiGroup: rbac.authorization.k8s.io
{{- end }}
{{- end }}
{{- end }}

{{/* A part's Deployment, budget and network policy: dict "root" $ "part" NAME "key" PREFIX-OF-VALUES "selector" LABELS "program"
     WORDS "args" LIST "ports" DICT "live" PORT "ready" PATH, and optionally "volumes" "mounts" "container" "deployment". */}}
{{- define "hekla.workload" -}}
{{- $root := .root }}
{{- $custom := $root.Values.custom }}
{{- $own := dict }}
{{- range $name := list "affinity" "tolerations" "ns" "sc" "main_csc" }}
{{- $default := get $custom (printf "default_%s" (trimPrefix "main_" $name)) }}
{{- $_ := set $own $name (get $custom (printf "%s_%s" $.key $name) | default $default) }}
{{- end }}
{{- $name := printf "%s-%s" $root.Release.Name .part }}
{{- $replicas := get $custom (printf "%s_replicas" .key) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "hekla.labels" $root | nindent 4 }}
    {{- toYaml .selector | nindent 4 }}
    {{- with get $custom (printf "%s_labels" .key) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  replicas: {{ $replicas }}
  selector:
    matchLabels: {{- toYaml .selector | nindent 6 }}
  template:
    metadata:
      labels:
        {{- toYaml .selector | nindent 8 }}
        {{- with $custom.common_labels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with get $custom (printf "%s_podLabels" .key) }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .config }}
      annotations:
        hekla.io/configuration: {{ sha256sum . | trunc 16 | quote }}
      {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      priorityClassName: system-cluster-critical
      {{- with $own.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.ns }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $own.sc }}
      securityContext: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.basic.image_pull_secret }}
      imagePullSecrets:
        - name: {{ . }}
      {{- end }}
      containers:
        - name: {{ .container | default $name }}
          image: {{ include "hekla.image" . | quote }}
          imagePullPolicy: {{ $root.Values.basic.image_pull_policy }}
          args:
            {{- range concat .program .args (get $custom (printf "%s_extra_args" .key)) }}
            - {{ . | quote }}
            {{- end }}
          ports:
            {{- range $port, $number := .ports }}
            - name: {{ $port }}
              containerPort: {{ $number }}
            {{- end }}
          livenessProbe:
            httpGet: {path: /healthz, port: {{ .live }}}
            initialDelaySeconds: 10
            periodSeconds: 10
          readinessProbe:
            httpGet: {path: {{ .ready }}, port: {{ .live }}}
            periodSeconds: 2
          {{- with get $custom (printf "%s_resources" .key) }}
          resources: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with $own.main_csc }}
          securityContext: {{- toYaml . | nindent 12 }}
          {{- end }}
          {{- with .mounts }}
          volumeMounts: {{- toYaml . | nindent 12 }}
          {{- end }}
      {{- with .volumes }}
      volumes: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- if and $custom.pod_disruption_budget_enable (gt (int $replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "hekla.labels" $root | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: {{- toYaml .selector | nindent 6 }}
{{- end }}
{{- if $custom.network_policy_enable }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "hekla.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels: {{- toYaml .selector | nindent 6 }}
  policyTypes: [Ingress]
  ingress:
    - ports:
        {{- range $port, $number := .ports }}
        - port: {{ $number }}
        {{- end }}
{{- end }}
{{- end }}

{{/* A Service in front of a part: dict "root" $ "name" NAME "selector" LABELS "ports" LIST. */}}
{{- define "hekla.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "hekla.labels" .root | nindent 4 }}
    {{- toYaml .selector | nindent 4 }}
spec:
  {{- with .root.Values.service.ipFamilyPolicy }}
  ipFamilyPolicy: {{ . }}
  {{- end }}
  {{- with .root.Values.service.ipFamilies }}
  ipFamilies: {{- toYaml . | nindent 4 }}
  {{- end }}
  selector: {{- toYaml .selector | nindent 4 }}
  ports: {{- toYaml .ports | nindent 4 }}
{{- end }}

{{- define "hekla.schedulerConfiguration" -}}
{{- .Values.custom.scheduler_config_override | default (.Files.Get .Values.basic.scheduler_config_file) }}
{{- end }}

{{- define "hekla.admissionConfiguration" -}}
{{- .Values.custom.admission_config_override | default (.Files.Get .Values.basic.admission_config_file) }}
{{- end }}

{{/* A ConfigMap of one file: dict "root" $ "name" NAME "file" NAME "text" TEXT. */}}
{{- define "hekla.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "hekla.labels" .root | nindent 4 }}
data:
  {{ .file }}: |
    {{- .text | nindent 4 }}
{{- end }}
