"""Templates in the style of well-known families; those with `raise_exception` know no system message."""

_CHATML = """\
{% for message in messages %}
{% if loop.first and message.role != 'system' %}
{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
{% endif %}
{{ '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>' }}
{% endfor %}

{% if add_generation_prompt %}
{{ '<|im_start|>assistant\\n' }}
{%- endif %}
"""
_LLAMA3 = """\
{{- bos_token }}
{%- if date_string is not defined %}
    {%- set date_string = '1 Jan 2025' %}
{%- endif %}
{%- set system = '' %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- '<|start_header_id|>system<|end_header_id|>\\n\\nToday: ' + date_string + '\\n\\n' + system + '<|eot_id|>' }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {{- message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
_GEMMA = """\
{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system messages') }}{% endif %}
{% for message in messages %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('not in turns') }}{% endif %}
    {% set role = 'model' if message['role'] == 'assistant' else message['role'] %}
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}
{% endfor %}
{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""
_MISTRAL = """\
{%- if messages[0].role == "system" %}
    {%- set system = messages[0].content %}
    {%- set turns = messages[1:] %}
{%- else %}
    {%- set turns = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{{- bos_token }}
{%- for turn in turns %}
    {%- if (turn.role == "user") != (ns.index % 2 == 0) %}
        {{- turn.refused.deeply }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
    {%- if turn.role == "user" and loop.last and system is defined %}
        {{- "[INST] " + system + "\\n\\n" + turn.content + "[/INST]" }}
    {%- elif turn.role == "user" %}
        {{- "[INST] " + turn.content + "[/INST]" }}
    {%- else %}
        {{- " " + turn.content + eos_token }}
    {%- endif %}
{%- endfor %}
"""
_PHI3 = """\
{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'user' %}{{'<|user|>
' + message['content'] + '<|end|>
'}}{% else %}{{'<|assistant|>
' + message['content'] + '<|end|>
'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>
' }}{% else %}{{ eos_token }}{% endif %}"""
_DEEPSEEK = """\
{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% set ns = namespace(system='', answered=false) %}
{%- for message in messages if message['role'] == 'system' %}{% set ns.system = message['content'] %}{%- endfor %}
{{ bos_token }}{{ ns.system }}{{ strftime_now('%Y') }}
{%- for message in messages %}
  {%- if message['role'] == 'user' %}
    {%- set ns.answered = false -%}
    {{ '<｜User｜>' + message['content'] }}
  {%- elif message['role'] == 'assistant' and message['content'] is not none %}
    {%- set content = message['content'].split('</think>')[-1] %}
    {%- set ns.answered = true -%}
    {{ '<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>' }}
  {%- endif %}
{%- endfor -%}
{% if add_generation_prompt and not ns.answered %}{{ '<｜Assistant｜><think>\\n' }}{% endif %}
"""
_QWEN = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '\\n</tools><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages | length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and not message.content.startswith('<tool_response>') %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set parts = content.split('</think>') %}
        {%- if parts | length > 1 and loop.index0 > ns.last %}
            {{- '<|im_start|>assistant\\n<think>\\n' + parts[0].split('<think>')[-1].strip('\\n') }}
            {{- '\\n</think>\\n\\n' }}
            {{- parts[-1].lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>assistant\\n' + parts[-1].lstrip('\\n') }}
        {%- endif %}
        {%- for call in message.tool_calls or [] %}
            {{- '\\n<tool_call>\\n' + call.name ~ (call.arguments | tojson) + '\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

TEMPLATES = {
    "chatml": _CHATML,
    "llama3": _LLAMA3,
    "gemma": _GEMMA,
    "mistral": _MISTRAL,
    "phi3": _PHI3,
    "deepseek": _DEEPSEEK,
    "qwen": _QWEN,
}
