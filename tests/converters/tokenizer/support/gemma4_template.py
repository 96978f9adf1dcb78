"""A chat template in the style of Gemma 4: turns between `<|turn>` and `<turn|>`, thoughts and tools marked alike.

Like the published one it shows thoughts of an answer nowhere, says at the end of a prompt that there are none, and
marks its texts with `<|"|>`. llama-server knows the family by the text behind `<|tool_call>`, and leaves the messages
as they are for templates with the comment below.
"""

GEMMA4 = """\
{#- OpenAI Chat Completions: answers of tools are messages of their own -#}
{%- macro shown(value) -%}
    {%- if value is string -%}
        {{- '<|"|>' + value + '<|"|>' -}}
    {%- elif value is mapping -%}
        {{- '{' -}}
        {%- for key, part in value | dictsort -%}
            {{- key + ':' -}}{{- shown(part) -}}{{- ',' if not loop.last else '' -}}
        {%- endfor -%}
        {{- '}' -}}
    {%- elif value is sequence -%}
        {{- '[' -}}
        {%- for part in value -%}
            {{- shown(part) -}}{{- ',' if not loop.last else '' -}}
        {%- endfor -%}
        {{- ']' -}}
    {%- else -%}
        {{- value | tojson -}}
    {%- endif -%}
{%- endmacro -%}
{%- macro thoughtless(text) -%}
    {%- for part in text.split('<channel|>') -%}
        {{- part.split('<|channel>')[0] -}}
    {%- endfor -%}
{%- endmacro -%}
{%- set ns = namespace(open=false) -%}
{{- bos_token -}}
{%- set system = messages[0].role == 'system' -%}
{%- if enable_thinking or tools or system -%}
    {{- '<|turn>system\\n' -}}
    {%- if enable_thinking -%}
        {{- '<|think|>\\n' -}}
    {%- endif -%}
    {%- if system -%}
        {{- messages[0].content | trim -}}
    {%- endif -%}
    {%- for tool in tools or [] -%}
        {{- '<|tool>declaration:' + tool.function.name -}}{{- shown(tool.function.parameters) -}}{{- '<tool|>' -}}
    {%- endfor -%}
    {{- '<turn|>\\n' -}}
{%- endif -%}
{%- for message in (messages[1:] if system else messages) -%}
    {%- if message.role == 'tool' -%}
        {{- '<|tool_response>response:' + message.name + '{value:' -}}{{- shown(message.content) -}}
        {{- '}<tool_response|>' -}}
    {%- else -%}
        {%- if not ns.open -%}
            {{- '<|turn>' + ('model' if message.role == 'assistant' else message.role) + '\\n' -}}
        {%- endif -%}
        {%- for call in message.tool_calls or [] -%}
            {{- '<|tool_call>call:' + call.function.name -}}{{- shown(call.function.arguments) -}}{{- '<tool_call|>' -}}
        {%- endfor -%}
        {%- if message.role == 'assistant' -%}
            {{- thoughtless(message.content or '') | trim -}}
        {%- else -%}
            {{- message.content | trim -}}
        {%- endif -%}
        {%- set ns.open = true if message.tool_calls else false -%}
        {{- '' if ns.open else '<turn|>\\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt and not ns.open -%}
    {{- '<|turn>model\\n' -}}
    {{- '' if enable_thinking else '<|channel>thought\\n<channel|>' -}}
{%- endif -%}
"""
